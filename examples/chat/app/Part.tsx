/** One part of a message: words as markdown, a file, a source, or the card of a tool. No HTML of a model is read as HTML. */
import type { DynamicToolUIPart, UIMessage } from "ai"
import Markdown from "marked-react"

interface PartProps {
  readonly part: UIMessage["parts"][number]
  readonly onDecide: (decision: { id: string; approved: boolean }) => void
}

export const Part = ({ onDecide, part }: PartProps) => {
  switch (part.type) {
    case "text":
      // `[d1]` refers to the first source.
      return <Markdown value={part.text.replaceAll(/\[d(\d+)\]/g, "[$1]")} gfm />
    case "reasoning":
      return (
        <details>
          <summary>Thoughts</summary>
          {part.text}
        </details>
      )
    case "file":
      return part.mediaType.startsWith("image/") ? (
        <img src={part.url} alt={part.filename ?? "Picture"} />
      ) : (
        <a href={part.url}>{part.filename ?? part.mediaType}</a>
      )
    case "source-document":
      return <cite>{part.title}</cite>
    case "source-url":
      return <a href={part.url}>{part.title ?? part.url}</a>
    case "dynamic-tool":
      return <ToolCard part={part} onDecide={onDecide} />
    default:
      return null
  }
}

const stateWords: Readonly<Record<DynamicToolUIPart["state"], string>> = {
  "input-streaming": "is called",
  "input-available": "runs",
  "approval-requested": "waits for you",
  "approval-responded": "goes on",
  "output-available": "is done",
  "output-error": "failed",
  "output-denied": "was rejected"
}

const shownValue = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value, null, 2))

const ToolCard = ({ onDecide, part }: PartProps & { readonly part: DynamicToolUIPart }) => {
  const { state, toolName } = part
  return (
    <section className="tool" aria-label={`Tool ${toolName}`}>
      <details>
        <summary>
          <b>{toolName}</b> {stateWords[state]}
        </summary>
        <pre>{shownValue(part.input)}</pre>
        {/* What a tool of the server gave is stored with the answer; the stream says only that it is done. */}
        {state === "output-available" && part.output !== null && <pre>{shownValue(part.output)}</pre>}
        {state === "output-error" && <p>{part.errorText}</p>}
      </details>
      {state === "approval-requested" && (
        <p>
          <button onClick={() => onDecide({ id: part.approval.id, approved: true })}>Approve</button>{" "}
          <button className="quiet" onClick={() => onDecide({ id: part.approval.id, approved: false })}>
            Reject
          </button>
        </p>
      )}
    </section>
  )
}

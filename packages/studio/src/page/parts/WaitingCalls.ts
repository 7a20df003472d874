/** The calls that a run waits for, in the conversation: approvals, each with its own decision, and the client's tools, answered by hand. */
import { plural } from "../lib/format.ts"
import { textToDecide } from "../lib/questions.ts"
import type { Decision, Waiting } from "../state/conversation.ts"
import { act, conversation } from "../state/place.ts"
import { html, useState, type View } from "../view.ts"
import { isRecord, type JsonRecord, type ToolCall } from "../wire.ts"
import { Icon } from "./Icon.ts"
import { ToolForm } from "./ToolForm.ts"

export const WaitingCalls = ({ waiting }: { readonly waiting: Waiting }): View => {
  const approvals = waiting.calls.filter(({ kind }) => kind === "approval")
  const own = waiting.calls.filter(({ kind }) => kind !== "approval")
  return html`<li class="waiting">
    ${approvals.length > 1 && html`<p class="hint">The run goes on when ${plural(waiting.calls.length, "call")} are answered.</p>`}
    ${approvals.map((call) => html`<${Approval} key=${call.id} call=${call} />`)}
    ${own.length > 0 && html`<${ToolForm} key=${waiting.runId} waiting=${{ ...waiting, calls: own }} />`}
  </li>`
}

/** Undefined: the text is no JSON object. */
const readObject = (text: string): JsonRecord | undefined => {
  try {
    const read: unknown = JSON.parse(text)
    // What JSON.parse gives is JSON.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return isRecord(read) ? (read as JsonRecord) : undefined
  } catch {
    return undefined
  }
}

const Approval = ({ call }: { readonly call: ToolCall }): View => {
  const { name } = call.function
  const asked = textToDecide(call)
  const [text, setText] = useState(asked)
  const [reason, setReason] = useState("")
  const [problem, setProblem] = useState<string | null>(null)
  const isBusy = conversation.isRunning.value
  const decide = (decision: Omit<Decision, "tool_call_id">) => {
    setProblem(null)
    act(() => conversation.decide({ tool_call_id: call.id, ...decision }))()
  }
  const approve = (event: Event) => {
    event.preventDefault()
    const given = readObject(text)
    if (text === asked && call.question === undefined) decide({ decision: "approve" })
    else if (given === undefined) setProblem("The arguments must be a JSON object.")
    else decide({ decision: "approve", arguments: given })
  }
  const reject = () => decide({ decision: "reject", ...(reason.trim() === "" ? {} : { reason: reason.trim() }) })
  return html`<form class="approval" aria-label="Approve ${name}" onSubmit=${approve}>
    <h4><${Icon} name="warning" /> ${call.question === undefined ? html`<span>May it call <code>${name}</code>?</span>` : html`<span><code>${name}</code> asks: ${call.question.message}</span>`}</h4>
    <label>
      ${call.question === undefined ? "Arguments" : "Answer"} of ${name}
      <textarea
        rows=${Math.min(12, text.split("\n").length)}
        spellcheck=${false}
        value=${text}
        onInput=${(event: Event) => {
          if (event.currentTarget instanceof HTMLTextAreaElement) setText(event.currentTarget.value)
        }}
      ></textarea>
    </label>
    ${problem !== null && html`<p role="alert" class="problem">${problem}</p>`}
    <div class="decision">
      <label>
        Reason, if you reject it
        <input
          autocomplete="off"
          placeholder="The model reads it"
          value=${reason}
          onInput=${(event: Event) => {
            if (event.currentTarget instanceof HTMLInputElement) setReason(event.currentTarget.value)
          }}
        />
      </label>
      <button type="button" class="danger" disabled=${isBusy} onClick=${reject}>Reject</button>
      <button class="primary" disabled=${isBusy}><${Icon} name="check" /> ${call.question !== undefined ? "Answer" : text === asked ? "Approve" : "Approve as changed"}</button>
    </div>
  </form>`
}

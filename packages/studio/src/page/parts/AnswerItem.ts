/** One answer: its reasoning, text, tool calls, media and sources, its end, and the user's actions. */
import { briefly, money, plural, wholeDate } from "../lib/format.ts"
import { copyText } from "../lib/clipboard.ts"
import { safeLink } from "../lib/addresses.ts"
import { mayAct } from "../lib/host.ts"
import { type Answer, isOpen, type Piece, turnId } from "../lib/answer.ts"
import { failureReason } from "../state/conversation.ts"
import { pressing } from "../state/studio.ts"
import type { RunSummary } from "../wire.ts"
import { classes, html, lazy, type Signal, useEffect, useState, type View } from "../view.ts"
import { Excerpts, Given } from "./Excerpts.ts"
import { Icon, type IconName } from "./Icon.ts"

export interface AnswerActions {
  /** Shows the details of the answer's turn. Absent: the turn has no details. */
  readonly onInspect?: (turnId: string) => void
  readonly onShare?: (runId: string) => void
  readonly onHear?: (documentId: string) => void
  /** Asks for another answer. An empty model stands for the one that answered first. */
  readonly onAgain?: (messageId: string, model: string) => void
  readonly onFork?: (messageId: string) => Promise<void>
  readonly onRewind?: (messageId: string) => Promise<void>
  /** Whether answers can be judged, and kept as tests. */
  readonly hasTests?: boolean
}

export interface AnswerItemProps {
  readonly answer: Signal<Answer>
  readonly name: string
  readonly threadId: string | null
  readonly actions: AnswerActions
  /** The time and the cost of the answer's run, if they are known. */
  readonly facts?: RunSummary | undefined
  readonly isLast?: boolean
}

export const AnswerItem = ({
  actions,
  answer: shown,
  facts,
  isLast = false,
  name,
  threadId
}: AnswerItemProps): View => {
  const answer = shown.value
  return html`<li
    class=${classes("answer", isOpen(answer) && "live", answer.state === "broken" && "broken", isLast && "last")}
  >
    <article aria-label="${name} answers" aria-busy=${answer.state === "live"}>
      <h3 class="speaker">${name}</h3>
      <${Thoughts} answer=${answer} />
      <${Given.Provider} value=${answer.excerpts}>
        ${answer.typed === null ? html`<${Pieces} answer=${answer} />` : html`<${TypedAnswers} typed=${answer.typed} threadId=${threadId} messageId=${answer.messageId} />`}
      <//>
      <${Media} media=${answer.media} />
      <${Found} answer=${answer} />
      ${answer.speechProblem !== null && html`<p class="mark">It could not be read aloud: ${answer.speechProblem}</p>`}
      <${Ending} answer=${answer} threadId=${threadId} />
      ${!isOpen(answer) && html`<${Footer} answer=${answer} threadId=${threadId} actions=${actions} facts=${facts} isLast=${isLast} />`}
    </article>
  </li>`
}

/** Text and tool calls in their order. A live answer ends with text, where the next words will stand. */
const Pieces = ({ answer: { calls, pieces, state } }: { readonly answer: Answer }): View => {
  const isLive = state === "live"
  const shown: ReadonlyArray<Piece> =
    pieces.length === 0 || (isLive && pieces.at(-1)?.kind === "calls")
      ? [...pieces, { kind: "text", text: "" }]
      : pieces
  return html`${shown.map((piece, index) =>
    piece.kind === "text"
      ? html`<${Text} key=${index} text=${piece.text} isLive=${isLive && index === shown.length - 1} />`
      : html`<${ToolCalls} key=${index} calls=${calls.filter(({ id }) => piece.ids.includes(id))} />`
  )}`
}

const AnswerTests = lazy(async () => (await import("./AnswerTests.ts")).AnswerTests)
const Media = lazy(async () => (await import("./Media.ts")).Media)
const ModelPicker = lazy(async () => (await import("./ModelPicker.ts")).ModelPicker)
const ToolCalls = lazy(async () => (await import("./ToolCalls.ts")).ToolCalls)
const TypedAnswers = lazy(async () => (await import("./TypedAnswers.ts")).TypedAnswers)

/** The plain text, until the parser is loaded. */
const Markdown = lazy<{ readonly text: string }>(
  async () => (await import("./Markdown.ts")).Markdown,
  ({ text }) => (text === "" ? null : html`<p class="plain">${text.trim()}</p>`)
)

const Text = ({ isLive, text }: { readonly text: string; readonly isLive: boolean }): View => {
  return html`<div class="text" dir="auto"><${Markdown} text=${text} />${isLive && html`<span class="caret" aria-hidden="true"></span>`}</div>`
}

const Thoughts = ({ answer }: { readonly answer: Answer }): View =>
  answer.thoughts === ""
    ? null
    : html`<details class="thoughts" open=${isOpen(answer)}>
        <summary>Reasoning</summary>
        <p>${answer.thoughts.trim()}</p>
      </details>`

/** The memories, files and sources of the answer. */
const Found = ({ answer }: { readonly answer: Answer }): View => {
  const { excerpts, files, memories, sources } = answer
  return html`${excerpts.length > 0 && html`<${Excerpts} excerpts=${excerpts} />`}
  ${
    sources.length > 0 &&
    html`<section class="sources" aria-label="Sources">
    <h4>Sources</h4>
    <ol>
      ${sources.map(({ title, url }) => html`<li><a href=${safeLink(url) ?? undefined} target="_blank" rel="noopener noreferrer nofollow">${title ?? url}</a></li>`)}
    </ol>
  </section>`
  }
  ${
    ((excerpts.length === 0 && files.length > 0) || memories.length > 0) &&
    html`<p class="found">
    ${excerpts.length === 0 && files.map((file) => html`<span class="chip"><${Icon} name="file" />${file}</span>`)}
    ${memories.length > 0 && html`<span class="chip"><${Icon} name="book" />${plural(memories.length, "memory", "memories")}</span>`}
  </p>`
  }`
}

const Ending = ({ answer, threadId }: { readonly answer: Answer; readonly threadId: string | null }): View => {
  switch (answer.state) {
    case "broken":
      return html`<p class="mark" role="status">
        <${Icon} name="warning" /> The connection was lost: this is half an answer. It goes on here when the server is back.
      </p>`
    case "failed":
      return html`<${Failure} answer=${answer} threadId=${threadId} />`
    case "cancelled":
      return html`<p class="mark">Cancelled.</p>`
    case "waiting":
      // A user who may act has the form below instead.
      return mayAct() ? null : html`<p class="mark">It waits for a person.</p>`
    default:
      return null
  }
}

const Failure = ({ answer, threadId }: { readonly answer: Answer; readonly threadId: string | null }): View => {
  const [reason, setReason] = useState(answer.problem)
  useEffect(() => {
    if (answer.problem !== null) setReason(answer.problem)
    else if (threadId !== null && answer.runId !== null) void failureReason(threadId, answer.runId).then(setReason)
  }, [answer.problem, answer.runId])
  return html`<p class="mark failed"><${Icon} name="warning" /><span>This answer failed. ${reason ?? ""}</span></p>`
}

interface FooterProps {
  readonly answer: Answer
  readonly threadId: string | null
  readonly actions: AnswerActions
  readonly facts: RunSummary | undefined
  readonly isLast: boolean
}

/** `1.8 s · 412 tokens · $0.002`; what is not known is left out. The time of a spoken answer is that to its first sound. */
const factsText = (
  { costUsd, inputTokens, outputTokens, voiceTimes }: Answer,
  facts: RunSummary | undefined
): string => {
  const { cost_usd = costUsd, created_at = "", ended_at = null, usage } = facts ?? {}
  const tokens = usage?.total_tokens ?? (inputTokens === null ? null : inputTokens + (outputTokens ?? 0))
  const millis = ended_at === null ? voiceTimes?.["first_sound_ms"] : Date.parse(ended_at) - Date.parse(created_at)
  return [
    typeof millis === "number" ? briefly(millis) : null,
    tokens === null ? null : plural(tokens, "token"),
    cost_usd === null ? null : money(cost_usd)
  ]
    .filter(Boolean)
    .join(" · ")
}

const Footer = ({ actions, answer, facts, isLast, threadId }: FooterProps): View => {
  const [isCopied, setCopied] = useState(false)
  const { messageId, model, runId, startedAt } = answer
  const { hasTests = false, onAgain, onFork, onHear, onInspect, onRewind, onShare } = actions
  const known = factsText(answer, facts)
  const id = turnId(answer)
  const title = [model, startedAt === null ? null : wholeDate(startedAt)].filter(Boolean).join(", ")
  const copy = () => void copyText(answer.text).then(setCopied)
  const action = (word: string, icon: IconName, run: (event: Event) => void, label = word) =>
    html`<button type="button" class="quiet" aria-label=${label} onClick=${run}><${Icon} name=${icon} />${word}</button>`
  return html`<footer>
    ${
      id !== null && onInspect !== undefined
        ? html`<button type="button" class="quiet facts-button" title=${title} aria-label="Look inside: ${known}" onClick=${() => onInspect(id)}>
            <${Icon} name="look" />${known === "" ? "Look inside" : known}
          </button>`
        : html`<span class="facts-button" title=${title}>${known}</span>`
    }
    <span class="actions">
      ${answer.speech !== null && onHear !== undefined && action("Hear it", "play", () => onHear(answer.speech ?? ""))}
      ${messageId !== null && onAgain !== undefined && html`<${Again} onAgain=${(chosen: string) => onAgain(messageId, chosen)} />`}
      ${
        messageId !== null &&
        onFork !== undefined &&
        action(
          "Fork",
          "fork",
          pressing(() => onFork(messageId)),
          "Fork the conversation here"
        )
      }
      ${
        messageId !== null &&
        onRewind !== undefined &&
        !isLast &&
        action(
          "Rewind",
          "back",
          pressing(() => onRewind(messageId)),
          "Rewind to this answer"
        )
      }
      ${answer.text !== "" && action(isCopied ? "Copied" : "Copy", "copy", copy)}
      ${runId !== null && onShare !== undefined && action("Share", "save", () => onShare(runId))}
      ${hasTests && answer.state !== "waiting" && messageId !== null && threadId !== null && html`<${AnswerTests} threadId=${threadId} messageId=${messageId} />`}
    </span>
  </footer>`
}

/** Another answer, of the same model or of another one. */
const Again = ({ onAgain }: { readonly onAgain: (model: string) => void }): View => {
  const [isChoosing, choose] = useState(false)
  const [model, setModel] = useState("")
  const submit = (event: Event) => {
    event.preventDefault()
    choose(false)
    onAgain(model)
  }
  return html`<button type="button" class="quiet" onClick=${() => onAgain("")}><${Icon} name="again" />Try again</button>
    <button type="button" class="quiet" aria-expanded=${isChoosing} onClick=${() => choose(!isChoosing)}>
      <${Icon} name="columns" />Other model
    </button>
    ${
      isChoosing &&
      html`<form class="again" onSubmit=${submit}>
        <${ModelPicker} label="Another model" empty="Choose one, or write its name" value=${model} onInput=${setModel} />
        <button class="primary" disabled=${model === ""}>Ask it</button>
      </form>`
    }`
}

/** One answer: its reasoning, text, tool calls, media and sources, its end, and the user's actions. */
import { count, money, plural, wholeDate } from "../lib/format.ts"
import { type Answer, isOpen, type Piece } from "../state/answer.ts"
import { failureReason } from "../state/conversation.ts"
import { classes, html, lazy, type Signal, useEffect, useState, type View } from "../view.ts"
import { Icon } from "./Icon.ts"
import { Media } from "./Media.ts"
import { ToolCalls } from "./ToolCalls.ts"

export interface AnswerActions {
  /** Shows the details of the answer's run. Absent: there are none. */
  readonly onInspect?: (runId: string) => void
  readonly onShare?: (runId: string) => void
  readonly onHear?: (documentId: string) => void
}

export interface AnswerItemProps {
  readonly answer: Signal<Answer>
  readonly name: string
  readonly threadId: string | null
  readonly actions: AnswerActions
}

export const AnswerItem = ({ actions, answer: shown, name, threadId }: AnswerItemProps): View => {
  const answer = shown.value
  return html`<li class=${classes("answer", isOpen(answer) && "live", answer.state === "broken" && "broken")}>
    <article aria-label="${name} answers" aria-busy=${answer.state === "live"}>
      <h3 class="speaker">${name}</h3>
      <${Thoughts} answer=${answer} />
      ${answer.typed === null ? html`<${Pieces} answer=${answer} />` : html`<${TypedAnswers} typed=${answer.typed} />`}
      <${Media} media=${answer.media} />
      <${Found} answer=${answer} />
      ${answer.speechProblem !== null && html`<p class="mark">It could not be read aloud: ${answer.speechProblem}</p>`}
      <${Ending} answer=${answer} threadId=${threadId} />
      ${!isOpen(answer) && html`<${Footer} answer=${answer} actions=${actions} />`}
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

const TypedAnswers = lazy(async () => (await import("./TypedAnswers.ts")).TypedAnswers)

/** The words as they are, until the parser is there. */
const Markdown = lazy<{ readonly text: string }>(
  async () => (await import("./Markdown.ts")).Markdown,
  ({ text }) => (text === "" ? null : html`<p class="plain">${text}</p>`)
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
  const { files, memories, sources } = answer
  return html`${
    sources.length > 0 &&
    html`<section class="sources" aria-label="Sources">
    <h4>Sources</h4>
    <ol>
      ${sources.map(({ title, url }) => html`<li><a href=${url} target="_blank" rel="noopener noreferrer nofollow">${title ?? url}</a></li>`)}
    </ol>
  </section>`
  }
  ${
    (files.length > 0 || memories.length > 0) &&
    html`<p class="found">
    ${files.map((file) => html`<span class="chip"><${Icon} name="file" />${file}</span>`)}
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
      return html`<p class="mark">It waits for your results.</p>`
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

const Footer = ({ actions, answer }: { readonly answer: Answer; readonly actions: AnswerActions }): View => {
  const [isCopied, setCopied] = useState(false)
  const { runId } = answer
  const facts = [
    answer.model,
    answer.inputTokens === null
      ? null
      : `${count(answer.inputTokens)} tokens in, ${count(answer.outputTokens ?? 0)} out`,
    answer.costUsd === null ? null : money(answer.costUsd)
  ].filter(Boolean)
  const copy = () =>
    void navigator.clipboard.writeText(answer.text).then(
      () => setCopied(true),
      () => {}
    )
  return html`<footer>
    <span title=${answer.startedAt === null ? "" : wholeDate(answer.startedAt)}>${facts.join(" · ")}</span>
    <span class="actions">
      ${
        answer.speech !== null &&
        actions.onHear !== undefined &&
        html`<button type="button" class="quiet" onClick=${() => actions.onHear?.(answer.speech ?? "")}>Hear it</button>`
      }
      ${answer.text !== "" && html`<button type="button" class="quiet" onClick=${copy}>${isCopied ? "Copied" : "Copy"}</button>`}
      ${
        runId !== null &&
        actions.onShare !== undefined &&
        html`<button type="button" class="quiet" onClick=${() => actions.onShare?.(runId)}>Share</button>`
      }
      ${
        runId !== null &&
        actions.onInspect !== undefined &&
        html`<button type="button" class="quiet" onClick=${() => actions.onInspect?.(runId)}>Look inside</button>`
      }
    </span>
  </footer>`
}

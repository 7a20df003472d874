/**
 * The calls of a run that wait for a person: those that need an approval, with arguments that can be changed, and those whose result the
 * person writes. Who shows the form sends what was decided.
 */
import { prettyJson } from "../lib/format.ts"
import { textToDecide } from "../lib/questions.ts"
import { html, useState, type View } from "../view.ts"
import { isRecord, type JsonRecord, type ToolCall } from "../wire.ts"

export interface Decision {
  readonly tool_call_id: string
  readonly decision: "approve" | "reject"
  readonly arguments?: JsonRecord
  readonly reason?: string
}

export interface DecisionsProps {
  readonly calls: ReadonlyArray<ToolCall>
  readonly onDecide: (decision: Decision) => void
  readonly onAnswer: (outputs: ReadonlyArray<{ readonly tool_call_id: string; readonly output: string }>) => void
}

export const Decisions = ({ calls, onAnswer, onDecide }: DecisionsProps): View => {
  const own = calls.filter(({ kind }) => kind === "client")
  return html`<div class="decisions">
    ${calls.filter(({ kind }) => kind === "approval").map((call) => html`<${Approval} key=${call.id} call=${call} onDecide=${onDecide} />`)}
    ${own.length > 0 && html`<${Answers} calls=${own} onAnswer=${onAnswer} />`}
  </div>`
}

interface ApprovalProps {
  readonly call: ToolCall
  readonly onDecide: (decision: Decision) => void
}

const readArguments = (text: string): JsonRecord | null => {
  try {
    const read: unknown = JSON.parse(text)
    // The text is JSON, so its value is JSON.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return isRecord(read) ? (read as JsonRecord) : null
  } catch {
    return null
  }
}

const typedText = (event: Event): string =>
  event.currentTarget instanceof HTMLTextAreaElement || event.currentTarget instanceof HTMLInputElement
    ? event.currentTarget.value
    : ""

const Approval = ({ call, onDecide }: ApprovalProps): View => {
  const { name } = call.function
  const { question } = call
  const asked = textToDecide(call)
  const [text, setText] = useState(asked)
  const [reason, setReason] = useState("")
  const [isEdited, setEdited] = useState(question !== undefined)
  const [isRejected, setRejected] = useState(false)
  const read = readArguments(text)
  const isChanged = question !== undefined || text !== asked
  const approve = () =>
    onDecide({ tool_call_id: call.id, decision: "approve", ...(isChanged && read !== null ? { arguments: read } : {}) })
  const reject = () =>
    onDecide({ tool_call_id: call.id, decision: "reject", ...(reason.trim() === "" ? {} : { reason: reason.trim() }) })
  return html`<fieldset class="call-decision">
    <legend>${question === undefined ? html`May <code>${name}</code> run?` : html`<code>${name}</code> asks: ${question.message}`}</legend>
    ${
      isEdited
        ? html`<label>
            ${question === undefined ? "Arguments" : "Answer"} of ${name}
            <textarea rows=${Math.min(10, text.split("\n").length + 1)} spellcheck=${false} value=${text} onInput=${(event: Event) => setText(typedText(event))}></textarea>
          </label>`
        : html`<${Given} call=${call} />`
    }
    ${read === null && html`<p class="problem" role="alert">The arguments must be a JSON object.</p>`}
    ${
      isRejected
        ? html`<label>Reason, which the model reads <input value=${reason} autocomplete="off" autofocus onInput=${(event: Event) => setReason(typedText(event))} /></label>
            <div class="actions">
              <button type="button" onClick=${() => setRejected(false)}>Back</button>
              <button type="button" class="danger" onClick=${reject}>Reject it</button>
            </div>`
        : html`<div class="actions">
            ${!isEdited && html`<button type="button" class="quiet" onClick=${() => setEdited(true)}>Change the arguments</button>`}
            <button type="button" class="danger" onClick=${() => setRejected(true)}>Reject</button>
            <button type="button" class="primary" disabled=${read === null} onClick=${approve}>${question !== undefined ? "Answer" : isChanged ? "Approve as changed" : "Approve"}</button>
          </div>`
    }
  </fieldset>`
}

/** What the model wants to call it with. */
const Given = ({ call }: { readonly call: ToolCall }): View => {
  const { arguments: given, name } = call.function
  if (given.trim() === "" || given.trim() === "{}") return html`<p class="hint">Without arguments.</p>`
  return html`<pre tabindex="0" role="group" aria-label="Arguments of ${name}">${prettyJson(given)}</pre>`
}

interface AnswersProps {
  readonly calls: ReadonlyArray<ToolCall>
  readonly onAnswer: DecisionsProps["onAnswer"]
}

const Answers = ({ calls, onAnswer }: AnswersProps): View => {
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  const isWhole = calls.every(({ id }) => (texts[id] ?? "").trim() !== "")
  const submit = (event: Event) => {
    event.preventDefault()
    onAnswer(calls.map(({ id }) => ({ tool_call_id: id, output: texts[id] ?? "" })))
  }
  return html`<form onSubmit=${submit}>
    ${calls.map(
      (call) =>
        html`<fieldset key=${call.id} class="call-decision">
          <legend>The result of <code>${call.function.name}</code></legend>
          <${Given} call=${call} />
          <label>
            Result of ${call.function.name}
            <textarea
              rows="2"
              value=${texts[call.id] ?? ""}
              onInput=${(event: Event) => setTexts({ ...texts, [call.id]: typedText(event) })}
            ></textarea>
          </label>
        </fieldset>`
    )}
    <div class="actions"><button class="primary" disabled=${!isWhole}>Send ${calls.length === 1 ? "the result" : "the results"}</button></div>
  </form>`
}

/**
 * The calls of a run that wait for a person, in the conversation and in the inbox. There are three kinds: calls that need an approval, with
 * arguments that can be changed; calls that ask a question in their middle; and calls whose result the person writes. The part that shows
 * them sends the decisions.
 */
import { plural } from "../lib/format.ts"
import { controlValue } from "../lib/forms.ts"
import { textToDecide } from "../lib/questions.ts"
import { formFields, readForm } from "../lib/schema.ts"
import type { Decision } from "../state/conversation.ts"
import { submitting } from "../state/studio.ts"
import { html, useLayoutEffect, useRef, useState, type View } from "../view.ts"
import { type Assistant, isRecord, type JsonRecord, type ToolCall } from "../wire.ts"
import { Icon } from "./Icon.ts"
import { SchemaFields } from "./SchemaForm.ts"
import { type Output, ToolForm } from "./ToolForm.ts"

export interface DecisionsProps {
  readonly calls: ReadonlyArray<ToolCall>
  /** The tools of the assistant, whose schemas make the forms of results. */
  readonly tools: Assistant["tools"]
  readonly isBusy?: boolean
  readonly onDecide: (decision: Decision) => Promise<unknown>
  readonly onAnswer: (outputs: ReadonlyArray<Output>) => Promise<unknown>
}

export const Decisions = ({ calls, isBusy = false, onAnswer, onDecide, tools }: DecisionsProps): View => {
  const approvals = calls.filter(({ kind }) => kind === "approval")
  const own = calls.filter(({ kind }) => kind !== "approval")
  return html`<div class="decisions">
    ${approvals.length > 0 && calls.length > 1 && html`<p class="hint">The run goes on when ${plural(calls.length, "call")} are answered.</p>`}
    ${approvals.map((call) => html`<${Approval} key=${call.id} call=${call} isBusy=${isBusy} onDecide=${onDecide} />`)}
    ${own.length > 0 && html`<${ToolForm} calls=${own} tools=${tools} onAnswer=${onAnswer} />`}
  </div>`
}

interface ApprovalProps {
  readonly call: ToolCall
  readonly isBusy: boolean
  readonly onDecide: (decision: Decision) => Promise<unknown>
}

/** Null: the text is no JSON object. */
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

const Approval = ({ call, isBusy, onDecide }: ApprovalProps): View => {
  const { name } = call.function
  const { question } = call
  const asked = textToDecide(call)
  // A question in the middle of a call has a form for its answer, where its schema makes one.
  const fields = question === undefined ? null : formFields(question.schema)
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  const [problems, setProblems] = useState<ReadonlyArray<string>>([])
  const [text, setText] = useState(asked)
  const [reason, setReason] = useState("")
  const first = question === undefined ? "look" : "change"
  const [step, setStep] = useState<"look" | "change" | "reject">(first)
  const frame = useRef<HTMLFormElement>(null)
  useLayoutEffect(() => {
    if (step !== first) frame.current?.querySelector<HTMLElement>(step === "reject" ? ".reason" : "textarea")?.focus()
  }, [step])
  const read = readArguments(text)
  const isChanged = question !== undefined || text !== asked
  const decide = async () => {
    if (step === "reject") {
      const given = reason.trim()
      await onDecide({ tool_call_id: call.id, decision: "reject", ...(given === "" ? {} : { reason: given }) })
    } else if (fields !== null) {
      const filled = readForm(fields, texts)
      setProblems(filled.problems)
      if (filled.problems.length === 0)
        await onDecide({ tool_call_id: call.id, decision: "approve", arguments: filled.values })
    } else if (!isChanged) await onDecide({ tool_call_id: call.id, decision: "approve" })
    else if (read !== null) await onDecide({ tool_call_id: call.id, decision: "approve", arguments: read })
  }
  return html`<form class="approval" ref=${frame} onSubmit=${submitting(decide)}>
   <div role="group" aria-label="Approve ${name}">
    <h4><${Icon} name="warning" /> ${question === undefined ? html`<span>May it call <code>${name}</code>?</span>` : html`<span dir="auto"><code>${name}</code> asks: ${question.message}</span>`}</h4>
    ${
      fields !== null
        ? html`<${SchemaFields} prefix=${call.id} fields=${fields} texts=${texts} onInput=${(field: string, value: string) => setTexts({ ...texts, [field]: value })} />`
        : step === "change"
          ? html`<label>
            ${question === undefined ? "Arguments" : "Answer"} of ${name}
            <textarea rows=${Math.min(12, text.split("\n").length + 1)} spellcheck=${false} value=${text} onInput=${(event: Event) => setText(controlValue(event))}></textarea>
          </label>`
          : html`<${Given} name=${name} text=${text} />`
    }
    ${read === null && isChanged && fields === null && html`<p class="problem" role="alert">The ${question === undefined ? "arguments" : "answer"} must be a JSON object.</p>`}
    ${problems.length > 0 && html`<p class="problem" role="alert">${problems.join("\n")}</p>`}
    ${
      step === "reject"
        ? html`<label>Reason, which the model reads <input class="reason" value=${reason} autocomplete="off" onInput=${(event: Event) => setReason(controlValue(event))} /></label>
            <div class="actions">
              <button type="button" onClick=${() => setStep(first)}>Back</button>
              <button class="danger" disabled=${isBusy}>Reject it</button>
            </div>`
        : html`<div class="actions">
            ${step === "look" && html`<button type="button" class="quiet" onClick=${() => setStep("change")}>Change the arguments</button>`}
            <span class="actions">
              <button type="button" class="danger" disabled=${isBusy} onClick=${() => setStep("reject")}>Reject</button>
              <button class="primary" disabled=${isBusy || (isChanged && fields === null && read === null)}>
                <${Icon} name="check" /> ${question !== undefined ? "Answer" : isChanged ? "Approve as changed" : "Approve"}
              </button>
            </span>
          </div>`
    }
   </div>
  </form>`
}

/** The arguments with which the model wants to call the tool. */
export const Given = ({ name, text }: { readonly name: string; readonly text: string }): View =>
  ["", "{}"].includes(text.trim())
    ? html`<p class="hint">Without arguments.</p>`
    : html`<pre tabindex="0" role="group" aria-label="Arguments of ${name}">${text}</pre>`

/**
 * The open calls of a run, answered by hand: the arguments, shown by the tool's JSON Schema, and a field for the result. A result is plain
 * text, or an object from a form. The form uses the schema under `x-output` in the tool's parameters, otherwise the schema of the
 * parameters, filled with the arguments.
 */
import { formFields, readForm } from "../lib/schema.ts"
import { submitting } from "../state/studio.ts"
import { html, useState, type View } from "../view.ts"
import { type Assistant, isRecord, type JsonRecord, type ToolCall } from "../wire.ts"
import { SchemaFields } from "./SchemaForm.ts"

interface Draft {
  readonly isForm: boolean
  readonly text: string
  readonly texts: Readonly<Record<string, string>>
}

type Tools = Assistant["tools"]

/** The result of a call. */
export interface Output {
  readonly tool_call_id: string
  readonly output: string
}

const findParameters = (tools: Tools, name: string): unknown =>
  tools?.flatMap((tool) => (tool.type === "function" && tool.function.name === name ? [tool] : []))[0]?.function
    .parameters

const readArguments = (call: ToolCall): JsonRecord => {
  try {
    const given: unknown = JSON.parse(call.function.arguments)
    // The text is JSON, so its value is JSON.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return isRecord(given) ? (given as JsonRecord) : {}
  } catch {
    return {}
  }
}

const outputSchema = (parameters: unknown): unknown => (isRecord(parameters) ? parameters["x-output"] : undefined)

const resultFields = (tools: Tools, call: ToolCall) => {
  const parameters = findParameters(tools, call.function.name)
  return formFields(outputSchema(parameters)) ?? formFields(parameters, readArguments(call))
}

const firstDraft = (tools: Tools, call: ToolCall): Draft => ({
  isForm: formFields(outputSchema(findParameters(tools, call.function.name))) !== null,
  text: "",
  texts: {}
})

interface ToolFormProps {
  readonly calls: ReadonlyArray<ToolCall>
  readonly tools: Tools
  readonly onAnswer: (outputs: ReadonlyArray<Output>) => Promise<unknown>
}

export const ToolForm = ({ calls, onAnswer, tools }: ToolFormProps): View => {
  const [drafts, setDrafts] = useState<Readonly<Record<string, Draft>>>({})
  const [problems, setProblems] = useState<ReadonlyArray<string>>([])
  const currentDraft = (call: ToolCall) => drafts[call.id] ?? firstDraft(tools, call)
  const change = (call: ToolCall) => (patch: Partial<Draft>) =>
    setDrafts({ ...drafts, [call.id]: { ...currentDraft(call), ...patch } })
  const send = async () => {
    const results = calls.map((call) => ({ call, ...draftResult(tools, call, currentDraft(call)) }))
    const found = results.flatMap((each) => each.problems)
    setProblems(found)
    if (found.length > 0) return
    await onAnswer(results.map(({ call, output }) => ({ tool_call_id: call.id, output })))
  }
  return html`<form novalidate onSubmit=${submitting(send)}><div class="tool-form" role="group" aria-label="The assistant waits for your results">
    <h4>The assistant waits for your results</h4>
    ${calls.map((call) => html`<${CallFields} key=${call.id} tools=${tools} call=${call} draft=${currentDraft(call)} change=${change(call)} />`)}
    ${problems.length > 0 && html`<ul role="alert" class="problem">${problems.map((each) => html`<li>${each}</li>`)}</ul>`}
    <div class="actions"><button class="primary">Send the results</button></div>
  </div></form>`
}

const draftResult = (
  tools: Tools,
  call: ToolCall,
  draft: Draft
): { readonly output: string; readonly problems: ReadonlyArray<string> } => {
  const fields = resultFields(tools, call)
  if (!draft.isForm || fields === null) {
    return draft.text.trim() === ""
      ? { output: "", problems: [`The result of ${call.function.name} is missing.`] }
      : { output: draft.text, problems: [] }
  }
  const { problems, values } = readForm(fields, draft.texts)
  return { output: JSON.stringify(values), problems }
}

interface CallFieldsProps {
  readonly tools: Tools
  readonly call: ToolCall
  readonly draft: Draft
  readonly change: (patch: Partial<Draft>) => void
}

const CallFields = ({ call, change, draft, tools }: CallFieldsProps): View => {
  const { name } = call.function
  const fields = resultFields(tools, call)
  return html`<fieldset>
    <legend><code>${name}</code></legend>
    <${Asked} call=${call} tools=${tools} />
    ${
      fields !== null &&
      html`<div class="choice" role="group" aria-label="Kind of result of ${name}">
      <button type="button" aria-pressed=${!draft.isForm} onClick=${() => change({ isForm: false })}>Text</button>
      <button type="button" aria-pressed=${draft.isForm} onClick=${() => change({ isForm: true })}>Form</button>
    </div>`
    }
    ${
      draft.isForm && fields !== null
        ? html`<${SchemaFields}
          prefix=${call.id}
          fields=${fields}
          texts=${draft.texts}
          onInput=${(field: string, text: string) => change({ texts: { ...draft.texts, [field]: text } })}
        />`
        : html`<label>
          Result of ${name}
          <textarea
            rows="2"
            value=${draft.text}
            onInput=${(event: Event) => {
              if (event.currentTarget instanceof HTMLTextAreaElement) change({ text: event.currentTarget.value })
            }}
          ></textarea>
        </label>`
    }
  </fieldset>`
}

/** The arguments of the call, with names and descriptions of the schema. */
const Asked = ({ call, tools }: { readonly call: ToolCall; readonly tools: Tools }): View => {
  const given = readArguments(call)
  const fields = formFields(findParameters(tools, call.function.name)) ?? []
  const names = [...new Set([...fields.map(({ name }) => name), ...Object.keys(given)])]
  if (names.length === 0) return html`<p class="hint">It is called without arguments.</p>`
  return html`<dl class="asked">
    ${names.map((name) => {
      const field = fields.find((each) => each.name === name)
      const value = given[name]
      return html`<div>
        <dt title=${field?.hint ?? ""}>${field?.label ?? name}</dt>
        <dd>${value === undefined ? html`<span class="hint">not given</span>` : typeof value === "string" ? value : JSON.stringify(value)}</dd>
      </div>`
    })}
  </dl>`
}

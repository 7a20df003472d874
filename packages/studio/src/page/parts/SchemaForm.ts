/** The fields of a form for a JSON Schema. */
import { controlValue } from "../lib/forms.ts"
import { type Field, initialText } from "../lib/schema.ts"
import { html, type View } from "../view.ts"

export interface SchemaFieldsProps {
  readonly fields: ReadonlyArray<Field>
  readonly texts: Readonly<Record<string, string>>
  readonly onInput: (name: string, text: string) => void
  /** The prefix of the controls' names, so that two forms have different names. */
  readonly prefix: string
}

export const SchemaFields = ({ fields, onInput, prefix, texts }: SchemaFieldsProps): View =>
  html`${fields.map((field) => {
    const text = texts[field.name] ?? initialText(field)
    const id = `${prefix}-${field.name}`
    const hint = field.hint === null ? undefined : `${id}-hint`
    // A yes or no is one line, with the box before the words.
    if (field.kind === "boolean")
      return html`<label class="check field" key=${field.name}>
        <input
          id=${id}
          type="checkbox"
          aria-describedby=${hint}
          checked=${text === "true"}
          onChange=${(event: Event) => {
            if (event.currentTarget instanceof HTMLInputElement)
              onInput(field.name, String(event.currentTarget.checked))
          }}
        />
        <span>${field.label}${hint !== undefined && html` <span class="hint" id=${hint}>${field.hint}</span>`}</span>
      </label>`
    return html`<div class="field" key=${field.name}>
      <label for=${id}>${field.label}${field.isRequired && html`<span class="hint"> (needed)</span>`}</label>
      <${Control} field=${field} id=${id} hint=${hint} text=${text} onInput=${(next: string) => onInput(field.name, next)} />
      ${hint !== undefined && html`<p class="hint" id=${hint}>${field.hint}</p>`}
    </div>`
  })}`

interface ControlProps {
  readonly field: Field & { readonly kind: Exclude<Field["kind"], "boolean"> }
  readonly id: string
  readonly hint: string | undefined
  readonly text: string
  readonly onInput: (text: string) => void
}

const Control = ({ field, hint, id, onInput, text }: ControlProps): View => {
  const input = (event: Event) => onInput(controlValue(event))
  switch (field.kind) {
    case "choice":
      return html`<select id=${id} aria-describedby=${hint} value=${text} onChange=${input}>
        <option value="">Choose</option>
        ${field.choices.map((choice, index) => html`<option value=${String(index)}>${String(choice)}</option>`)}
      </select>`
    case "number":
    case "integer":
      return html`<input
        id=${id}
        type="number"
        aria-describedby=${hint}
        step=${field.kind === "integer" ? 1 : "any"}
        min=${field.minimum ?? undefined}
        max=${field.maximum ?? undefined}
        value=${text}
        onInput=${input}
      />`
    case "long":
    case "json":
      return html`<textarea
        id=${id}
        aria-describedby=${hint}
        rows="3"
        spellcheck=${field.kind === "long"}
        placeholder=${field.kind === "json" ? "JSON" : ""}
        value=${text}
        onInput=${input}
      ></textarea>`
    case "text":
      return html`<input id=${id} aria-describedby=${hint} autocomplete="off" value=${text} onInput=${input} />`
  }
}

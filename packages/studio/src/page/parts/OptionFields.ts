/** The fields of a model's options: of an assistant, and in the playground of all columns or of one. */
import { optionFields, type OptionTexts } from "../lib/modelOptions.ts"
import { classes, html, type View } from "../view.ts"

interface OptionFieldsProps {
  readonly texts: OptionTexts
  readonly onChange: (texts: OptionTexts) => void
  /** The text that an empty field shows. */
  readonly empty?: string
  readonly isFixed?: boolean
}

export const OptionFields = ({
  empty = "the model’s own",
  isFixed = false,
  onChange,
  texts
}: OptionFieldsProps): View => html`<div class="fields">
  ${optionFields.map(({ choices, hint, isWide = false, label, name, number }) => {
    const field = {
      value: texts[name] ?? "",
      placeholder: hint ?? empty,
      readonly: isFixed,
      onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
        onChange({ ...texts, [name]: currentTarget.value })
    }
    if (choices !== undefined)
      return html`<label key=${name}>${label} <select ...${field} disabled=${isFixed}>
        <option value="">${empty}</option>
        ${Object.entries(choices).map(([value, word]) => html`<option value=${value}>${word}</option>`)}
      </select></label>`
    if (name === "stop")
      return html`<label key=${name} class=${classes(isWide && "wide")}>${label} <textarea rows="1" ...${field}></textarea></label>`
    return html`<label key=${name} class=${classes(isWide && "wide")}>${label} <input type=${number === undefined ? "text" : "number"} autocomplete="off" ...${number} ...${field} /></label>`
  })}
</div>`

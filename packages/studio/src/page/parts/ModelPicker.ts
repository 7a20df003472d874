/**
 * Chooses a model from the catalogue by a part of its name, with its window and prices. A name that is not in the catalogue is marked as
 * wrong before a message is sent.
 */
import { count, money } from "../lib/format.ts"
import { chatModels, find, catalogueProblem, readModelName, writeModelName } from "../state/catalogue.ts"
import { classes, html, type ReadonlySignal, useRef, useState, type View } from "../view.ts"
import type { Model } from "../wire.ts"

export interface ModelPickerProps {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  /** The meaning of an empty field. */
  readonly empty?: string
  readonly from?: ReadonlySignal<ReadonlyArray<Model>>
}

const most = 60
let ids = 0

const fullName = ({ name, provider }: Model): string => writeModelName({ provider, model: name })

const priceText = ({ input_cost_per_1m_tokens: input, output_cost_per_1m_tokens: output }: Model): string =>
  input === null || output === null ? "price not known" : `${money(input)} in, ${money(output)} out a million tokens`

const modelFacts = (model: Model): string =>
  [
    model.context_limit === null ? null : `${count(model.context_limit)} tokens`,
    priceText(model),
    model.supports_tools === false ? "no tools" : null
  ]
    .filter(Boolean)
    .join(" · ")

export const ModelPicker = ({ empty = "", from = chatModels, label, onInput, value }: ModelPickerProps): View => {
  const id = useRef(`models-${++ids}`)
  const [isOpen, setOpen] = useState(false)
  const [isFiltered, setFiltered] = useState(false)
  const [active, setActive] = useState(-1)
  const words = isFiltered ? value.toLowerCase().split(/\s+/u) : []
  const found = from.value
    .filter((each) =>
      words.every((word) => `${fullName(each)} ${each.display_name ?? ""}`.toLowerCase().includes(word))
    )
    .slice(0, most)
  const name = readModelName(value)
  const chosen = find(name)
  const problem = from === chatModels ? catalogueProblem(name) : null
  const choose = (model: Model) => {
    onInput(fullName(model))
    setOpen(false)
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.isComposing) return
    const picked = found[active]
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault()
      setOpen(true)
      const step = event.key === "ArrowDown" ? 1 : -1
      const next = (active + step + found.length + 1) % (found.length + 1)
      setActive(next)
      document.getElementById(`${id.current}-${next}`)?.scrollIntoView({ block: "nearest" })
    } else if (event.key === "Enter" && isOpen && picked !== undefined) {
      event.preventDefault()
      choose(picked)
    } else if (event.key === "Escape" && isOpen) {
      event.preventDefault()
      event.stopPropagation()
      setOpen(false)
    }
  }
  return html`<div class="picker">
    <label for=${id.current}>${label}</label>
    <input
      id=${id.current}
      role="combobox"
      aria-expanded=${isOpen && found.length > 0}
      aria-controls="${id.current}-list"
      aria-autocomplete="list"
      aria-activedescendant=${isOpen && active in found ? `${id.current}-${active}` : undefined}
      aria-describedby="${id.current}-facts"
      aria-invalid=${problem !== null}
      autocomplete="off"
      spellcheck=${false}
      placeholder=${empty}
      value=${value}
      onInput=${(event: InputEvent) => {
        if (event.currentTarget instanceof HTMLInputElement) onInput(event.currentTarget.value)
        setFiltered(true)
        setActive(-1)
        setOpen(true)
      }}
      onClick=${() => {
        setFiltered(false)
        setOpen(true)
      }}
      onBlur=${() => setOpen(false)}
      onKeyDown=${onKey}
    />
    <p id="${id.current}-facts" class=${classes("hint", problem !== null && "problem")} role=${problem === null ? undefined : "alert"}>
      ${problem ?? (chosen === undefined ? "" : modelFacts(chosen))}
    </p>
    ${
      isOpen &&
      found.length > 0 &&
      html`<ul id="${id.current}-list" role="listbox" aria-label=${label}>
      ${found.map(
        (each, index) =>
          html`<li
            id="${id.current}-${index}"
            role="option"
            aria-selected=${index === active}
            onMouseDown=${(event: Event) => {
              event.preventDefault()
              choose(each)
            }}
          >
            <span>${fullName(each)}</span><small>${modelFacts(each)}</small>
          </li>`
      )}
    </ul>`
    }
  </div>`
}

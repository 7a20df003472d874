/** The excerpts that an answer was given, numbered as it cites them. Each opens the document at its position. */
import { createContext, html, lazy, signal, useContext, type View } from "../view.ts"
import type { Excerpt } from "../wire.ts"
import { Icon } from "./Icon.ts"

/** The excerpt whose document is open. */
const opened = signal<Excerpt | null>(null)

const DocumentDialog = lazy(async () => (await import("./DocumentDialog.ts")).DocumentDialog)

const sourceText = ({ filename, page }: Excerpt): string => (page === null ? filename : `${filename}, page ${page}`)

/** The excerpts of the answer that is drawn. */
export const Given = createContext<ReadonlyArray<Excerpt>>([])

/** A citation in the text: the number of an excerpt, or the marker as it was written, if the answer was given no such excerpt. */
export const Marker = ({ index, raw }: { readonly index: number; readonly raw: string }): View => {
  const excerpt = useContext(Given).find((each) => each.index === index)
  if (excerpt === undefined) return raw
  return html`<button
    type="button"
    class="citation"
    title=${excerpt.text?.slice(0, 200) ?? ""}
    aria-label="Excerpt ${index + 1}: ${sourceText(excerpt)}"
    onClick=${() => (opened.value = excerpt)}
  >
    ${index + 1}
  </button>`
}

export const Excerpts = ({ excerpts }: { readonly excerpts: ReadonlyArray<Excerpt> }): View =>
  html`<ol class="found" aria-label="Excerpts">
    ${excerpts.map(
      (excerpt) =>
        html`<li key=${excerpt.index}>
          <button type="button" class="chip" title=${excerpt.text ?? "The document is gone."} onClick=${() => (opened.value = excerpt)}>
            <span class="number">${excerpt.index + 1}</span><${Icon} name="file" />${sourceText(excerpt)}
          </button>
        </li>`
    )}
  </ol>`

/** The excerpt that is open, one for the whole page. */
export const OpenedExcerpt = (): View =>
  opened.value === null
    ? null
    : html`<${DocumentDialog} key=${opened.value} excerpt=${opened.value} onClose=${() => (opened.value = null)} />`

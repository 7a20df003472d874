/** An answer's text as elements. Loaded with the first answer, because its parser is large. */
import { markdown } from "./MarkdownElements.ts"
import { html, useMemo, type View } from "../view.ts"

export const Markdown = ({ text }: { readonly text: string }): View => {
  const shown = useMemo(() => markdown(text), [text])
  return html`${shown}`
}

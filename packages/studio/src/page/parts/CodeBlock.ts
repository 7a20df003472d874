/** Code in colours, with a button that copies it. */
import { copyText } from "../lib/clipboard.ts"
import { highlight } from "../lib/highlight.ts"
import { html, useState, type View } from "../view.ts"

export const CodeBlock = ({ code, language = "" }: { readonly code: string; readonly language?: string }): View => {
  const [isCopied, setCopied] = useState(false)
  const copy = () => void copyText(code).then(setCopied)
  const name = language.split(/\s/u)[0] ?? ""
  return html`<figure class="code">
    <figcaption>
      <span>${name === "" ? "Code" : name}</span>
      <button type="button" class="quiet" onClick=${copy}>${isCopied ? "Copied" : "Copy"}</button>
    </figcaption>
    <pre tabindex="0" role="group" aria-label=${name === "" ? "Code" : `Code in ${name}`}><code>${highlight(
      code,
      name
    ).map(({ shade, text }) =>
      shade === "plain" ? text : html`<span class="code-${shade}">${text}</span>`
    )}</code></pre>
  </figure>`
}

/** Two texts as one, with the removed and the added words marked. */
import { wordDiff } from "../lib/wordDiff.ts"
import { html, useMemo, type View } from "../view.ts"

export const WordDiff = ({ after, before }: { readonly before: string; readonly after: string }): View => {
  const changes = useMemo(() => wordDiff(before, after), [before, after])
  return html`<div class="word-diff" dir="auto">
    ${changes.map(({ kind, text }) => {
      if (kind === "added") return html`<ins>${text}</ins>`
      return kind === "removed" ? html`<del>${text}</del>` : text
    })}
  </div>`
}

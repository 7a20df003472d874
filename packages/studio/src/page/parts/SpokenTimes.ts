/** What a spoken answer took. A session of voice is no run, so what is known of its turn stands at the answer. */
import { briefly } from "../lib/format.ts"
import { html, type View } from "../view.ts"

/** In the order in which it happens, counted from the end of the user's words. */
const words = {
  transcript_ms: "Words written down",
  first_token_ms: "First token",
  first_sentence_ms: "First sentence",
  first_sound_ms: "First sound"
}

export const SpokenTimes = ({ times }: { readonly times: Readonly<Record<string, unknown>> }): View => {
  const known = Object.entries(words).flatMap(([name, word]) => {
    const millis = times[name]
    return typeof millis === "number" ? [[word, millis] as const] : []
  })
  const last = known.at(-1)
  if (last === undefined) return null
  return html`<details class="spoken-times">
    <summary>${briefly(last[1])} from the end of your words</summary>
    <dl class="facts">
      ${known.map(([word, millis]) => html`<div><dt>${word}</dt><dd>${briefly(millis)}</dd></div>`)}
    </dl>
  </details>`
}

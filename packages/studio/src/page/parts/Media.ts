/** Pictures, sounds and videos of an answer or of a message, loaded from the service itself. */
import { base } from "../api/http.ts"
import { ownAddress } from "../lib/addresses.ts"
import { html, type View } from "../view.ts"
import type { GeneratedMedia } from "../wire.ts"

export const Media = ({ media }: { readonly media: ReadonlyArray<GeneratedMedia> }): View =>
  media.length === 0
    ? null
    : html`<div class="media">${media.map((each) => html`<${Medium} key=${each.document_id} medium=${each} />`)}</div>`

const Medium = ({ medium }: { readonly medium: GeneratedMedia }): View => {
  const address = ownAddress(medium.url, base)
  const kind = medium.mime_type.split("/")[0]
  if (kind === "image")
    return html`<a href=${address} target="_blank" rel="noopener"><img src=${address} alt="Generated picture" loading="lazy" /></a>`
  if (kind === "video")
    return html`<video src=${address} controls preload="metadata" aria-label="Generated video"></video>`
  if (kind === "audio") return html`<audio src=${address} controls preload="metadata" aria-label="Audio"></audio>`
  return html`<a href=${address} target="_blank" rel="noopener">${medium.media_type}</a>`
}

/** Which addresses in a model's text may become links, and the address of a document's bytes from this page. Pure. */

/** Null: the text is shown without a link. A model may write any address, so only these schemes are opened. */
export const safeLink = (address: string): string | null => {
  const text = address.trim()
  if (/^(https?:|mailto:)/iu.test(text)) {
    try {
      return new URL(text).href
    } catch {
      return null
    }
  }
  return null
}

/**
 * The address of a medium under the page's own origin. Its signed address contains the server's configured name, which may differ from the
 * name that the browser used; the signature covers only path and query.
 */
export const ownAddress = (url: string, base: string): string => {
  const query = url.includes("?") ? url.slice(url.indexOf("?")) : ""
  const path = /\/documents\/[^?#]+/u.exec(url)?.[0]
  return path === undefined ? url : `${base}${path}${query}`
}

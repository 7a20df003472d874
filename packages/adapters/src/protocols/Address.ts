/** The address of a vendor or of a server of its wire, checked where a host gives it: a request would only fail to connect. */
export const checkedUrl = <Given extends string | undefined>(baseUrl: Given): Given => {
  if (baseUrl === undefined) return baseUrl
  if (/^https?:\/\//iu.test(baseUrl)) {
    if (URL.canParse(baseUrl)) return baseUrl
    throw new TypeError(`The baseUrl "${baseUrl}" is no valid address. Correct its host or its port.`)
  }
  const rest = baseUrl.replace(/^[a-z]*:?\/+/iu, "")
  throw new TypeError(
    `The baseUrl "${baseUrl}" has no scheme that is known here. Write "https://${rest}", or "http://${rest}".`
  )
}

/** The address of a vendor or of a server of its wire, checked where a host gives it: a request would only fail to connect. */
export const checkedUrl = <Given extends string | undefined>(baseUrl: Given): Given => {
  if (baseUrl === undefined || /^https?:\/\//iu.test(baseUrl)) return baseUrl
  const rest = baseUrl.replace(/^[a-z]*:?\/+/iu, "")
  throw new TypeError(
    `The baseUrl "${baseUrl}" has no scheme that is known here. Write "https://${rest}", or "http://${rest}".`
  )
}

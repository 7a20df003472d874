/**
 * Pure: whether a browser sends a request for a page of another site. A browser adds the session of a host to such a request by itself, so a
 * request that changes something may act on the session only if its page belongs to this site. `http` and `ws` ask this of requests that
 * bring no key; a page of another site cannot add a key, or any header read here, without the permission of CORS.
 */
type Headers = Readonly<Record<string, string | undefined>>

export interface OwnSite {
  /** Addresses under which browsers know this server, besides those that the request itself names. */
  readonly addresses: ReadonlyArray<string | null>
  /** Origins of other sites whose pages may act on a session. */
  readonly trusted: ReadonlyArray<string>
}

/** The names of `headers` are in lower case. */
export const isFromOtherSite = (headers: Headers, { addresses, trusted }: OwnSite): boolean => {
  const { origin } = headers
  const site = headers["sec-fetch-site"]?.toLowerCase()
  if (origin !== undefined && trusted.includes(origin)) return false
  // A header that stands twice comes as one list.
  if (site?.includes("cross-site") === true) return true
  // Without an Origin it is no browser, or the page of a navigation that the user began.
  if (origin === undefined || site === "same-origin") return false
  return !addresses.some((address) => originOrNull(address) === origin) && !isAsked(headers, origin)
}

/** Whether the request went to the host of this origin. A proxy that ends TLS or changes `Host` tells in headers of its own what was asked. */
const isAsked = (headers: Headers, origin: string): boolean => {
  const page = URL.parse(origin)
  if (page === null) return false
  const scheme = firstListed(headers["x-forwarded-proto"])
  if (scheme !== null && `${scheme}:` !== page.protocol) return false
  return [firstListed(headers["x-forwarded-host"]), headers["host"] ?? null].some(
    (host) => host !== null && URL.parse(`${page.protocol}//${host}`)?.host === page.host
  )
}

const originOrNull = (address: string | null): string | null =>
  address === null ? null : (URL.parse(address)?.origin ?? null)

/** Each proxy appends to such a header; the first value is what the client asked for. */
const firstListed = (header: string | undefined): string | null => header?.split(",", 1)[0]?.trim() || null

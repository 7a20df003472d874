/**
 * The headers of a Node message as the host's middleware has left them: `message.headers` and not what came over the wire, so that a header
 * which the host has set or deleted counts as set or deleted. Both ways into the service read them here.
 */
import type { IncomingMessage } from "node:http"

/**
 * Names in lower case, one text for each. Node gives the client's headers in lower case, so a name written otherwise is the host's, comes
 * later and wins. Headers of HTTP/2's own begin with a colon and are left out.
 */
export const hostHeaders = ({ headers }: IncomingMessage): Record<string, string> => {
  const found: Record<string, string> = {}
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    if (name.startsWith(":") || value === undefined) continue
    found[name.toLowerCase()] = typeof value === "string" ? value : [value].flat().join(name === "cookie" ? "; " : ", ")
  }
  return found
}

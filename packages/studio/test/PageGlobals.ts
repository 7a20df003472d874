/** What a browser gives the page, for tests of its state in Node: an address, a storage, and a server that is a function. */
import { vi } from "@effect/vitest"

type Server = (path: string, init: RequestInit) => Response | Promise<Response>

export interface PageGlobals {
  /** The texts that the page stores. */
  readonly stored: Map<string, string>
  /** Tells the page what another tab has changed. */
  readonly tellPage: (change: object) => void
  /** Goes to another address, as Back and Forward do. */
  readonly travel: (hash: string) => void
  /** Answers the requests from now on. */
  readonly serve: (server: Server) => void
  readonly takeAway: () => void
}

/** Sets the globals that the page's files read while they load. `takeAway` must be called after the tests. */
export const pageGlobals = (): PageGlobals => {
  const stored = new Map<string, string>()
  const location = { hash: "", pathname: "/", search: "", href: "http://page.test/", origin: "http://page.test" }
  const show = (_: unknown, __: string, address: string) => {
    location.hash = address.includes("#") ? address.slice(address.indexOf("#")) : ""
  }
  let server: Server = () => new Response(null, { status: 404 })
  const listeners = new Map<string, (event: object) => void>()
  const globals = {
    document: { querySelector: () => null },
    localStorage: {
      getItem: (name: string) => stored.get(name) ?? null,
      setItem: (name: string, text: string) => stored.set(name, text)
    },
    location,
    history: { pushState: show, replaceState: show },
    addEventListener: (name: string, listener: (event: object) => void) => listeners.set(name, listener),
    BroadcastChannel: class {
      postMessage = () => {}
      addEventListener = (name: string, listener: (event: object) => void) => listeners.set(name, listener)
    },
    fetch: async (address: string, init: RequestInit = {}) => server(address.replace(/^\/api/u, ""), init)
  }
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value)
  return {
    stored,
    tellPage: (data) => listeners.get("message")?.({ data }),
    travel: (hash) => {
      location.hash = hash
      listeners.get("popstate")?.({})
    },
    serve: (next) => (server = next),
    takeAway: () => vi.unstubAllGlobals()
  }
}

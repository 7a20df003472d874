/** Requests to the public API with the user's key. All other files of the studio use this one. */
import { mayAct } from "../lib/host.ts"
import { readStored, store } from "../lib/storage.ts"
import { signal } from "../view.ts"
import { isRecord } from "../wire.ts"

export const base: string = document.querySelector<HTMLMetaElement>('meta[name="api-base"]')?.content ?? "/api"

const keyName = "colloquy-key"
export const getKey = (): string => readStored(keyName) ?? ""
export const setKey = (key: string): void => {
  store(keyName, key)
  keys.value += 1
}
/** How many keys were given while the page is open. What a refused key has ended begins again with the next one. */
export const keys = signal(0)

/** False from the first request that reached no server until the next one that reached a server. */
export const isServerUp = signal(true)

/** The server refused the request, with its reason. */
export class Refused extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Whether the server has refused a request for good. What failed otherwise may succeed later. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof Refused && error.status < 500 && error.status !== 429

/** No server answered. */
class Unreachable extends Error {
  constructor() {
    super("The server does not answer. What you see stays here; it is tried again.")
  }
}

/** The reason of a refusal, in the form of this API or of whatever stands before it. */
const reasonIn = (answer: unknown, status: number): string => {
  const detail = isRecord(answer) ? answer["detail"] : null
  const reason = Array.isArray(detail)
    ? detail.filter(isRecord).map(fieldReason).join("\n")
    : isRecord(detail)
      ? JSON.stringify(detail)
      : typeof detail === "string"
        ? detail
        : ""
  return reason === "" ? `The server answered ${status}, without a reason.` : reason
}

const fieldReason = ({ loc, msg }: Readonly<Record<string, unknown>>): string =>
  [Array.isArray(loc) ? loc.slice(1).join(".") : "", msg].filter(Boolean).join(": ")

export interface Call {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE"
  /** An object is sent as JSON, a form unchanged. */
  readonly body?: object
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

/** Without a key, the host's own session says who the user is. */
const keyHeader = (): Readonly<Record<string, string>> => {
  const key = getKey()
  if (!/^[!-~]*$/u.test(key)) throw new Refused(401, "This key has other signs than a key has. Copy it once more.")
  return key === "" ? {} : { "x-api-key": key }
}

const readOnlySaid = "Nothing can be changed here. This studio only looks."

const requestBody = (body: object): BodyInit =>
  body instanceof FormData || body instanceof Blob ? body : JSON.stringify(body)

export const call = async (
  path: string,
  { body, headers, method = "GET", signal: stop }: Call = {}
): Promise<Response> => {
  if (!mayAct() && method !== "GET" && !path.endsWith("/search")) throw new Refused(403, readOnlySaid)
  const isJson = body !== undefined && !(body instanceof FormData) && !(body instanceof Blob)
  const response = await reach(base + path, {
    method,
    headers: { ...keyHeader(), ...(isJson ? { "content-type": "application/json" } : {}), ...headers },
    ...(body === undefined ? {} : { body: requestBody(body) }),
    ...(stop === undefined ? {} : { signal: stop })
  })
  if (response.ok) return response
  const answer: unknown = await response.json().catch(() => null)
  throw new Refused(response.status, reasonIn(answer, response.status))
}

/** Posts, and the signal only ends the reading of the answer: a message that is on its way arrives. */
export const callAndRead = async (
  path: string,
  { signal: stop, ...options }: Call & { readonly signal: AbortSignal }
): Promise<Response> => {
  const reading = new AbortController()
  const end = () => reading.abort()
  const response = await call(path, { ...options, method: "POST", signal: reading.signal })
  if (stop.aborted) end()
  stop.addEventListener("abort", end)
  return response
}

const reach = async (address: string, init: RequestInit): Promise<Response> => {
  try {
    const response = await fetch(address, init)
    isServerUp.value = true
    return response
  } catch (error) {
    if (init.signal?.aborted === true) throw error
    isServerUp.value = false
    throw new Unreachable()
  }
}

/** The response as the record that the API promises for this address. */
export const json = async <Record>(path: string, options?: Call): Promise<Record> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  (await (await call(path, options)).json()) as Record

/** The header of an act that happens once, however often its request is sent. */
export const once = () => ({
  // `randomUUID` is missing where the page is not sent over TLS.
  "idempotency-key": [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16)).join("-")
})

export const post = <Record>(path: string, body: object): Promise<Record> =>
  json<Record>(path, { method: "POST", body, headers: once() })

const pageSize = 200

/** A whole list, page by page. */
export const all = async <Record>(path: string): Promise<ReadonlyArray<Record>> => {
  const found: Array<Record> = []
  const mark = path.includes("?") ? "&" : "?"
  while (true) {
    const page = await json<ReadonlyArray<Record>>(`${path}${mark}skip=${found.length}&limit=${pageSize}`)
    found.push(...page)
    if (page.length < pageSize) return found
  }
}

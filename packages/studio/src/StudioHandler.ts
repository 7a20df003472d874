/** Answers requests for the studio, with the paths and choices of its host. */
import { type HostRequest, hostRequest, type NodeHandler, toNodeHandler } from "@colloquy/http/node"
import { type Brand, brandStyles } from "./Brand.ts"
import type { PageFiles } from "./PageFiles.ts"
import { studioFiles, type StudioFiles } from "./StudioFiles.ts"

/** The screens that `rooms` of `studio({ … })` chooses from. */
export type StudioRoom = "talk" | "runs" | "playground" | "tests" | "knowledge" | "voice"

interface StudioChoices<Source> {
  /**
   * The path at which the host mounts the studio, such as `/admin/studio`. Not set: where Express mounted it (`app.use("/admin/studio", …)`),
   * else the root.
   */
  readonly basePath?: string
  /**
   * Whether this request may see the studio; otherwise the answer is 403. The request carries the host's session, like that of
   * `authenticate` of the API. Not set: everybody may.
   */
  readonly authorize?: (request: HostRequest<Source>) => boolean | Promise<boolean>
  /** True: the page has no controls that change anything, and sends only reading requests. The rights of a user are decided by the API. */
  readonly readOnly?: boolean
  /** The rooms of the page. Not set: all that the server can fill. */
  readonly rooms?: ReadonlyArray<StudioRoom>
  readonly brand?: Brand
  /** The address of a guide for the users of the page. Not set: the page links to none. */
  readonly guide?: string
  /** The sites that may show the page in a frame, such as `"'self'"` or `["https://admin.example"]`. Not set: nobody. */
  readonly frameAncestors?: string | ReadonlyArray<string>
}

interface ApiByPath {
  /** The path of the API on the same origin, such as `/ai`. */
  readonly api: string
  readonly ai?: never
}

interface ApiByHandler {
  /** The API, as `webHandler` or `colloquy.handler` gave it. */
  readonly ai: { readonly basePath: string }
  readonly api?: never
}

/** The address of the API, the users who may see the page, and the content of the page. */
export type StudioOptions<Source = unknown> = StudioChoices<Source> & (ApiByPath | ApiByHandler)

/** The page, ready to be mounted. */
export interface Studio {
  /** For frameworks with web requests. Other paths than the studio's get 404. */
  readonly handler: (request: Request) => Promise<Response>
  /** The same for `node:http`, Express and Fastify. */
  readonly node: NodeHandler
  /** Whether the studio answers at this path: for servers that decide themselves who answers a request. */
  readonly answers: (pathname: string) => boolean
}

/** Makes the studio with these files of the page, those of the sources or those of the published package. */
export const makeStudio = <Source>(files: PageFiles, options: StudioOptions<Source>): Studio => {
  const { authorize, brand = {}, readOnly = false } = options
  const own = studioFiles(files, {
    api: apiPath(options),
    name: brand.name?.trim() || "Colloquy",
    brand: brand.colour === undefined ? null : brandStyles(brand.colour),
    guide: options.guide ?? null,
    isReadOnly: readOnly,
    rooms: chosenRooms(options.rooms),
    frameAncestors: ancestors(options.frameAncestors)
  })
  const mounted = plainPath(options.basePath ?? "")
  const answerAt = async (base: string, request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url)
    if (!isAt(own, base, pathname)) return refusal(404)
    if (authorize !== undefined && !(await authorize(hostRequest<Source>(request)))) return refusal(403)
    if (request.method !== "GET" && request.method !== "HEAD") return refusal(405, { allow: "GET, HEAD" })
    if (pathname !== base) return own.response(request, pathname.slice(base.length))
    // Addresses in the page are relative, so that its path has to end with a slash.
    const location = `${base.slice(base.lastIndexOf("/") + 1)}/${search}`
    return new Response(null, { status: 308, headers: { location } })
  }
  return {
    handler: (request) => answerAt(mounted, request),
    node: (message, response) => {
      const base = options.basePath === undefined ? expressMount(message) : mounted
      toNodeHandler((request) => answerAt(base, request))(message, response)
    },
    answers: (pathname) => isAt(own, mounted, pathname)
  }
}

const isAt = (files: StudioFiles, base: string, pathname: string): boolean =>
  (base !== "" && pathname === base) || (pathname.startsWith(`${base}/`) && files.has(pathname.slice(base.length)))

/** The path at which Express has mounted the handler. Other frameworks do not tell it. */
const expressMount = (message: object): string =>
  "baseUrl" in message && typeof message.baseUrl === "string" ? plainPath(message.baseUrl) : ""

/** `/ai/` and `ai` are `/ai`; the root is the empty text. */
const plainPath = (path: string): string =>
  path
    .split("/")
    .flatMap((each) => (each === "" ? [] : [`/${each}`]))
    .join("")

const apiPath = ({ ai, api }: { readonly ai?: ApiByHandler["ai"]; readonly api?: string }): string => {
  const path = api ?? ai?.basePath
  if (typeof path !== "string")
    throw new TypeError(
      'studio needs the path of the API, as { api: "/ai" }, or the API itself, as { ai: webHandler(…) }.'
    )
  return plainPath(path)
}

const allRooms: ReadonlyArray<StudioRoom> = ["talk", "runs", "playground", "tests", "knowledge", "voice"]

const chosenRooms = (rooms: ReadonlyArray<StudioRoom> | undefined): ReadonlyArray<StudioRoom> | null => {
  if (rooms === undefined) return null
  const unknown = rooms.filter((each) => !allRooms.includes(each))
  if (unknown.length === 0 && rooms.length > 0) return rooms
  const said = unknown.length === 0 ? "rooms is empty" : `rooms has ${JSON.stringify(unknown)}`
  throw new TypeError(`${said}. Choose of ${allRooms.join(", ")}.`)
}

const ancestors = (given: string | ReadonlyArray<string> = "'none'"): string => {
  const text = [given].flat().join(" ").trim()
  // Anything else would end the directive, or the header.
  if (/^[\w.:/*'-]+(?: [\w.:/*'-]+)*$/u.test(text)) return text
  throw new TypeError(
    `frameAncestors is ${JSON.stringify(text)}. Give sources such as "'self'" or "https://admin.example", as a text or a list.`
  )
}

const refusal = (status: keyof typeof details, headers: Readonly<Record<string, string>> = {}): Response =>
  Response.json({ detail: details[status] }, { status, headers })

const details = {
  403: "The studio is not open to this user",
  404: "Not Found",
  405: "Method Not Allowed"
} as const

/**
 * The studio: a page to talk to assistants, to see what a turn did, and to look after documents and memories. It is a client of the public
 * API and of nothing else. A host mounts it beside the API, with the API's path and its own.
 */
import { type NodeHandler, toNodeHandler } from "@colloquy/http/node"
import { fileResponse, isFile } from "./StudioFiles.ts"

export interface StudioOptions {
  /** The path of the API on the same origin, such as `/ai`. */
  readonly api: string
  /** The path at which the host mounts the studio, such as `/admin/studio`. Not set: the root. */
  readonly basePath?: string
}

export interface Studio {
  /** For frameworks of web requests. Paths that are none of the studio get 404. */
  readonly handler: (request: Request) => Promise<Response>
  /** The same for `node:http`, Express and Fastify. */
  readonly node: NodeHandler
  /** Whether the studio answers at this path: for servers that decide themselves who answers a request. */
  readonly answers: (pathname: string) => boolean
}

export const studio = ({ api, basePath = "" }: StudioOptions): Studio => {
  const base = withoutEnd(basePath)
  // Addresses in the page are relative, so that its path has to end with a slash.
  const isWithoutSlash = (pathname: string) => base !== "" && pathname === base
  const answers = (pathname: string) =>
    isWithoutSlash(pathname) || (pathname.startsWith(`${base}/`) && isFile(pathname.slice(base.length)))
  const handler = async (request: Request): Promise<Response> => {
    if (request.method !== "GET" && request.method !== "HEAD") return refusal(405, { allow: "GET, HEAD" })
    const { pathname } = new URL(request.url)
    if (!answers(pathname)) return refusal(404)
    if (!isWithoutSlash(pathname)) return fileResponse(request, pathname.slice(base.length), api)
    return new Response(null, { status: 308, headers: { location: `${base.slice(base.lastIndexOf("/") + 1)}/` } })
  }
  return { handler, node: toNodeHandler(handler), answers }
}

const withoutEnd = (path: string): string => (path.endsWith("/") ? path.slice(0, -1) : path)

const refusal = (status: number, headers: Readonly<Record<string, string>> = {}): Response =>
  Response.json({ detail: status === 404 ? "Not Found" : "Method Not Allowed" }, { status, headers })

/** Requests for the guide: its paths and the security policy of its pages. The guide itself is loaded at the first request. */
import { pack, packedResponse } from "@colloquy/studio/packed"
import { guideHome } from "./guide/GuideHome.ts"

const guidePath = "/docs/guide"

/** A package that was packed without `npm run pack:all` has no guide. */
export const hasGuide = guideHome !== null

/** The guide is beside the documents of the API, and also at the root. */
const pathUnder = (pathname: string, basePath: string): Rest | null => {
  const prefixes = [
    { prefix: basePath + guidePath, api: "docs" },
    { prefix: guidePath, api: `${basePath.slice(1)}/docs` }
  ]
  for (const { api, prefix } of prefixes) {
    if (pathname === prefix || pathname.startsWith(`${prefix}/`)) return { path: pathname.slice(prefix.length), api }
  }
  return null
}

interface Rest {
  readonly path: string
  /** The relative address of the API's description, seen from the folder of `docs`. */
  readonly api: string
}

export const isGuidePath = (pathname: string, basePath: string): boolean =>
  pathname === "/llms.txt" || pathUnder(pathname, basePath) !== null

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'"
].join("; ")

const headers = {
  "cache-control": "no-cache",
  "content-security-policy": policy,
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY"
}

/** For paths of the guide. */
export const guideResponse = async (request: Request, basePath: string): Promise<Response> => {
  if (request.method !== "GET" && request.method !== "HEAD") {
    return Response.json({ detail: "Method Not Allowed" }, { status: 405, headers: { ...headers, allow: "GET, HEAD" } })
  }
  const { guideContent, guideList } = await import("./guide/Guide.ts")
  const { pathname, searchParams } = new URL(request.url)
  const rest = pathUnder(pathname, basePath)
  const list = rest === null ? guideList() : null
  const answer =
    rest === null ? list && { ...list, status: 200 } : await guideContent({ ...rest, query: searchParams.get("q") })
  if (answer === null) return Response.json({ detail: "The guide has no such page" }, { status: 404, headers })
  if (answer.status === 404) {
    return new Response(answer.text, { status: 404, headers: { ...headers, "content-type": answer.type } })
  }
  return packedResponse(request, await pack(answer.text, answer.type), headers)
}

/**
 * Answers with the files of the page: each is read and compressed at its first request, and not sent again to a browser that has it. The
 * host's choices are written into the page and into two further files: the colours, and the worker for a reload without a server.
 */
import { createHash } from "node:crypto"
import { type Packed, pack, packedResponse } from "./Packed.ts"
import type { PageFile, PageFiles } from "./PageFiles.ts"

/** The choices of the host, as the page reads them. */
export interface PageChoices {
  readonly api: string
  readonly name: string
  /** The styles of the host's colour. Null: the host has not chosen a colour. */
  readonly brand: string | null
  /** The address of the guide. Null: the page links to none. */
  readonly guide: string | null
  readonly isReadOnly: boolean
  /** The rooms that the host chose. Null: all. */
  readonly rooms: ReadonlyArray<string> | null
  readonly frameAncestors: string
}

export interface StudioFiles {
  readonly has: (path: string) => boolean
  /** The answer for a path that the page has. */
  readonly response: (request: Request, path: string) => Promise<Response>
}

const html = "text/html; charset=utf-8"
const css = "text/css; charset=utf-8"
const script = "text/javascript; charset=utf-8"

const brandPath = "/studio/brand.css"
const workerPath = "/offline.js"

const escaped = (text: string): string => text.replaceAll(/[&<>"]/gu, (sign) => `&#${sign.codePointAt(0)};`)

const meta = (name: string, content: string): string => `<meta name="${name}" content="${escaped(content)}" />`

const pageFor = (files: PageFiles, { api, brand, guide, isReadOnly, name, rooms }: PageChoices): string => {
  const choices = [
    meta("api-base", api),
    meta("brand", name),
    ...(guide === null ? [] : [meta("guide", guide)]),
    ...(rooms === null ? [] : [meta("rooms", rooms.join(" "))]),
    ...(isReadOnly ? [meta("read-only", "yes")] : []),
    ...(brand === null ? [] : [`<link rel="stylesheet" href="${brandPath.slice(1)}" />`])
  ]
  const [letter = ""] = name
  return files
    .html()
    .replace("<!-- choices -->", () => choices.join("\n    "))
    .replace("<title>Colloquy</title>", () => `<title>${escaped(name)}</title>`)
    .replace(
      '<span aria-hidden="true">C</span><span class="unseen">Colloquy</span>',
      () => `<span aria-hidden="true">${escaped(letter)}</span><span class="unseen">${escaped(name)}</span>`
    )
}

/** The files that a page loads at once, as it names them. */
const linkedFiles = (page: string): ReadonlyArray<string> => [
  ...new Set([...page.matchAll(/ (?:href|src)="((?!data:)[^"]+)"/gu)].map(([, path = ""]) => path))
]

/**
 * Keeps the page and what it has loaded, for a reload while no server answers. The network comes first, so that nothing old is shown while
 * there is one; requests of the API never come here.
 */
const workerFor = (first: ReadonlyArray<string>): string => `const files = ${JSON.stringify(["./", ...first])}
const cache = () => caches.open("colloquy-studio " + registration.scope)
const page = new URL("./", location.href)
const isOwn = ({ origin, pathname }) =>
  origin === page.origin && (pathname === page.pathname || pathname.startsWith(page.pathname + "studio/"))
addEventListener("install", (event) => {
  event.waitUntil(cache().then((kept) => kept.addAll(files)))
})
addEventListener("fetch", (event) => {
  const { method, url } = event.request
  const address = new URL(url)
  if (method !== "GET" || !isOwn(address)) return
  const key = address.origin + address.pathname
  const ask = async () => {
    try {
      const answer = await fetch(event.request)
      if (answer.ok && !answer.redirected) {
        const copy = answer.clone()
        event.waitUntil(cache().then((kept) => kept.put(key, copy)))
      }
      return answer
    } catch (error) {
      const known = await (await cache()).match(key, { ignoreVary: true })
      if (known !== undefined) return known
      throw error
    }
  }
  event.respondWith(ask())
})
`

export const studioFiles = (files: PageFiles, choices: PageChoices): StudioFiles => {
  const { brand, frameAncestors } = choices
  const hash =
    files.inlineScript === null ? "" : ` 'sha256-${createHash("sha256").update(files.inlineScript).digest("base64")}'`
  const headers = {
    "content-security-policy": [
      "default-src 'self'",
      `script-src 'self'${hash}`,
      "img-src 'self' data: blob:",
      "media-src 'self' blob:",
      "font-src 'self'",
      "base-uri 'none'",
      `frame-ancestors ${frameAncestors}`
    ].join("; "),
    "permissions-policy": "camera=(), geolocation=(), microphone=(self)",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff"
  }
  const own: ReadonlyMap<string, () => Omit<PageFile, "isForever">> = new Map([
    ["/", () => ({ content: pageFor(files, choices), type: html })],
    [workerPath, () => ({ content: workerFor(linkedFiles(pageFor(files, choices))), type: script })],
    ...(brand === null ? [] : [[brandPath, () => ({ content: brand, type: css })] as const])
  ])
  const read = (path: string): PageFile => {
    const made = own.get(path)?.()
    return made === undefined ? files.read(path) : { ...made, isForever: false }
  }
  const kept = new Map<string, Promise<readonly [Packed, string]>>()
  const packFile = async (path: string): Promise<readonly [Packed, string]> => {
    const { content, isForever, type } = read(path)
    return [await pack(content, type), isForever ? "public, max-age=31536000, immutable" : "no-cache"]
  }
  return {
    has: (path) => own.has(path) || files.has(path),
    response: async (request, path) => {
      const packing = kept.get(path) ?? packFile(path)
      kept.set(path, packing)
      const [packed, caching] = await packing
      return packedResponse(request, packed, { ...headers, "cache-control": caching })
    }
  }
}

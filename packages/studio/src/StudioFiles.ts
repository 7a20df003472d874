/**
 * The studio's files for a browser, without a build: types are removed from the TypeScript, the few libraries are served from their
 * packages, and everything is compressed once. The path of the API is written into the page.
 */
import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { dirname, extname, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { type Packed, pack, packedResponse } from "./Packed.ts"

const folder = fileURLToPath(new URL("../src/page", import.meta.url))

const types: { readonly [ending: string]: string } = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".ts": "text/javascript; charset=utf-8",
  ".js": "text/javascript; charset=utf-8"
}

/**
 * The libraries, by the names under which the studio imports them, with their addresses. The client of voice sessions serves other pages
 * too.
 */
const libraries: ReadonlyMap<string, string> = new Map([
  ["preact", "/studio/libraries/preact.js"],
  ["preact/hooks", "/studio/libraries/preact-hooks.js"],
  ["htm", "/studio/libraries/htm.js"],
  ["marked", "/studio/libraries/marked.js"],
  ["@preact/signals", "/studio/libraries/signals.js"],
  ["@preact/signals-core", "/studio/libraries/signals-core.js"],
  ["@colloquy/ws/client", "/realtime-client.js"]
])

const isServed = (name: string) => /\.(?:css|ts)$/.test(name) && !/\.(?:d|test)\.ts$/.test(name)

const ownFiles = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .map((name) => name.replaceAll("\\", "/"))
  .filter(isServed)
  .toSorted()

/** The file of each address. */
const files: ReadonlyMap<string, string> = new Map([
  ...ownFiles.map((name) => [`/studio/${name}`, `${folder}/${name}`] as const),
  ...[...libraries].map(([name, address]) => [address, fileURLToPath(import.meta.resolve(name))] as const)
])

/** Whether the studio has a file at this path below its own. */
export const isFile = (path: string): boolean => path === "/" || files.has(path)

const importMap = JSON.stringify({
  imports: Object.fromEntries([...libraries].map(([name, address]) => [name, `.${address}`]))
})

const policy = [
  "default-src 'self'",
  `script-src 'self' 'sha256-${createHash("sha256").update(importMap).digest("base64")}'`,
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "base-uri 'none'",
  "frame-ancestors 'none'"
].join("; ")

const headers = {
  "cache-control": "no-cache",
  "content-security-policy": policy,
  "permissions-policy": "camera=(), geolocation=(), microphone=(self)",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff"
}

/** Comments on separate lines and indentation are removed, because they would be an eighth of the page's size. */
const comments = /^[ \t]*(?:\/\*[\s\S]*?\*\/|\/\/.*)[ \t]*\n/gm

const readSource = (file: string): string => {
  const text = readFileSync(file, "utf8")
  const plain = file.endsWith(".ts") ? stripTypeScriptTypes(text, { mode: "transform" }).replace(comments, "") : text
  return file.startsWith(folder) ? plain.replace(/^[ \t]+/gm, "") : plain
}

/** The names that a module imports at once, in lines of their own; an `import()` is not among them. */
const importedNames = (source: string): ReadonlyArray<string> =>
  source
    .split("\n")
    .filter((line) => /^(?:import|export|\}) /.test(line))
    .flatMap((line) => / from "([^"]+)"/.exec(line)?.[1] ?? [])

const listImports = (file: string): ReadonlyArray<string> =>
  importedNames(readSource(file)).map((name) =>
    name.startsWith(".") ? `/studio/${relative(folder, resolve(dirname(file), name))}` : (libraries.get(name) ?? "")
  )

/** The modules of the first view. They are requested all at once, instead of one after the other as they import each other. */
const firstModules = (): ReadonlyArray<string> => {
  const found = new Set(["/studio/main.ts"])
  for (const path of found) {
    const file = files.get(path)
    if (file?.startsWith(folder) === true) for (const each of listImports(file)) found.add(each)
    // The one library of the first view that imports others.
    else if (path === libraries.get("@preact/signals")) found.add(libraries.get("@preact/signals-core") ?? "")
  }
  return [...found]
}

const indexFor = (api: string): string => {
  const preloads = firstModules().map((path) => `<link rel="modulepreload" href="${path.slice(1)}" />`)
  return readFileSync(`${folder}/index.html`, "utf8")
    .replace('content="/api"', `content="${api}"`)
    .replace("<!-- modules -->", [`<script type="importmap">${importMap}</script>`, ...preloads].join("\n    "))
}

const packs = new Map<string, Promise<Packed>>()

/** Each file is read and compressed at its first request. */
const packed = (path: string, api: string): Promise<Packed> => {
  const file = files.get(path)
  const key = file ?? `page of ${api}`
  const known = packs.get(key)
  if (known !== undefined) return known
  const made =
    file === undefined ? pack(indexFor(api), types[".html"] ?? "") : pack(readSource(file), types[extname(path)] ?? "")
  packs.set(key, made)
  return made
}

/** The file at a path of `isFile`. */
export const fileResponse = async (request: Request, path: string, api: string): Promise<Response> =>
  packedResponse(request, await packed(path, api), headers)

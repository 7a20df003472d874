/**
 * The files of the page as they stand in `src/page`: types are removed from the TypeScript, and the few libraries are taken from their
 * packages. In the published package, `scripts/StudioPage.ts` has put a module in the place of this one: the same names, with the files
 * joined by room.
 */
import { readdirSync, readFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { dirname, extname, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"

export interface PageFile {
  /** The content of a file. Bytes are of a format that is compressed already. */
  readonly content: string | Uint8Array
  readonly type: string
  /** True: the address of the file contains a hash or version of its content, so that a browser requests it once. */
  readonly isForever: boolean
}

export interface PageFiles {
  /** The HTML of the page, before the choices of the host are written into it. */
  readonly html: () => string
  /** The only script inside of the page. Null: it has none. */
  readonly inlineScript: string | null
  readonly has: (path: string) => boolean
  /** The file of a path that the page has. */
  readonly read: (path: string) => PageFile
}

const folder = fileURLToPath(new URL("../src/page", import.meta.url))

const types: { readonly [ending: string]: string } = {
  ".css": "text/css; charset=utf-8",
  ".ts": "text/javascript; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2"
}

/** The typeface, with its licence: `css/base.css` and `index.html` have these addresses, with the version of the package. */
export const typeface: ReadonlyMap<string, string> = new Map([
  ["/studio/geist-5.3.0-latin.woff2", "@fontsource-variable/geist/files/geist-latin-wght-normal.woff2"],
  ["/studio/geist-5.3.0-latin-ext.woff2", "@fontsource-variable/geist/files/geist-latin-ext-wght-normal.woff2"],
  ["/studio/geist-5.3.0-license.txt", "@fontsource-variable/geist/LICENSE"]
])

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
  ...[...libraries].map(([name, address]) => [address, fileURLToPath(import.meta.resolve(name))] as const),
  ...[...typeface].map(([address, name]) => [address, fileURLToPath(import.meta.resolve(name))] as const)
])

const importMap = JSON.stringify({
  imports: Object.fromEntries([...libraries].map(([name, address]) => [name, `.${address}`]))
})

/** Comments on separate lines and indentation are removed, because they would be an eighth of the page's size. */
const comments = /^[ \t]*(?:\/\*[\s\S]*?\*\/|\/\/.*)[ \t]*\n/gm

const readSource = (file: string): string => {
  const text = readFileSync(file, "utf8")
  const plain = file.endsWith(".ts") ? stripTypeScriptTypes(text, { mode: "transform" }) : text
  const short = /\.(?:ts|css)$/.test(file) ? plain.replace(comments, "") : plain
  return file.startsWith(folder) ? short.replace(/^[ \t]+/gm, "") : short
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

export const pageFiles: PageFiles = {
  html: () => {
    const preloads = firstModules().map((path) => `<link rel="modulepreload" href="${path.slice(1)}" />`)
    const head = [`<script type="importmap">${importMap}</script>`, ...preloads].join("\n    ")
    return readFileSync(`${folder}/index.html`, "utf8").replace("<!-- modules -->", head)
  },
  inlineScript: importMap,
  has: (path) => files.has(path),
  read: (path) => {
    const file = files.get(path) ?? ""
    const content = path.endsWith(".woff2") ? readFileSync(file) : readSource(file)
    return { content, type: types[extname(path)] ?? "", isForever: typeface.has(path) }
  }
}

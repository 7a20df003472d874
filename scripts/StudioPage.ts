// Joins the page of the studio by room, for the published package: each room and each dialog is a file that is loaded when it is opened, and what
// rooms share is in files of their own. The names have hashes, so that a browser asks for a file once. The result is the text of a module that
// stands in the place of `PageFiles.ts`, so that nothing of it has to be found in a folder: bundlers of hosts (Next) can take it along.
import { readdirSync, readFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { join } from "node:path"
import { type OutputChunk, rolldown } from "rolldown"
import { fileURLToPath } from "node:url"
import { typeface } from "../packages/studio/src/PageFiles.ts"
import { root } from "./Workspace.ts"

const page = join(root, "packages/studio/src/page")

interface BuiltFile {
  readonly text: string
  /** True: the text has bytes in base64. */
  readonly isBytes?: true
  readonly type: string
  readonly isForever: boolean
}

export interface BuiltPage {
  readonly html: string
  readonly files: Readonly<Record<string, BuiltFile>>
}

const script = "text/javascript; charset=utf-8"

const joinModules = async (
  input: Readonly<Record<string, string>>,
  names: string
): Promise<ReadonlyArray<OutputChunk>> => {
  const build = await rolldown({
    input,
    platform: "browser",
    logLevel: "warn",
    resolve: { conditionNames: ["colloquy-source", "browser", "import"] }
  })
  const { output } = await build.generate({
    entryFileNames: names,
    chunkFileNames: names,
    minify: true,
    comments: false
  })
  await build.close()
  return output.filter((each) => each.type === "chunk")
}

const files = (chunks: ReadonlyArray<OutputChunk>, isForever: boolean): ReadonlyArray<readonly [string, BuiltFile]> =>
  chunks.map(({ code, fileName }) => [`/${fileName}`, { text: code, type: script, isForever }])

/** The styles without comments and indentation. */
const styles = (): ReadonlyArray<readonly [string, BuiltFile]> =>
  readdirSync(join(page, "css")).map((name) => {
    const text = readFileSync(join(page, "css", name), "utf8")
    const short = text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/\s*\n\s*/g, "\n")
    return [`/studio/css/${name}`, { text: short, type: "text/css; charset=utf-8", isForever: false }]
  })

/** The files of the typeface, and its licence, which goes where they go. */
const letters = (): ReadonlyArray<readonly [string, BuiltFile]> =>
  [...typeface].map(([path, name]) => {
    const file = readFileSync(fileURLToPath(import.meta.resolve(name)))
    return path.endsWith(".woff2")
      ? [path, { text: file.toString("base64"), isBytes: true, type: "font/woff2", isForever: true }]
      : [path, { text: file.toString("utf8"), type: "text/plain; charset=utf-8", isForever: true }]
  })

/** A file and all that it imports at once. */
const withImports = (chunks: ReadonlyArray<OutputChunk>, first: string): ReadonlySet<string> => {
  const found = new Set([first])
  for (const name of found) {
    for (const each of chunks.find(({ fileName }) => fileName === name)?.imports ?? []) found.add(each)
  }
  return found
}

export const buildPage = async (): Promise<BuiltPage> => {
  const chunks = await joinModules({ main: join(page, "main.ts") }, "studio/[name]-[hash].js")
  const client = await joinModules(
    { "realtime-client": join(root, "packages/ws/src/client/RealtimeClient.ts") },
    "[name].js"
  )
  const main = chunks.find(({ isEntry }) => isEntry)?.fileName
  if (main === undefined) throw new Error("main.ts became no file")
  const preloads = [...withImports(chunks, main)].map((name) => `<link rel="modulepreload" href="${name}" />`)
  // Loaded by its address, into the thread of sound.
  const microphone = stripTypeScriptTypes(readFileSync(join(page, "audio/microphone.ts"), "utf8"), {
    mode: "transform"
  })
  return {
    html: readFileSync(join(page, "index.html"), "utf8")
      .replace("<!-- modules -->", preloads.join("\n    "))
      .replace('src="studio/main.ts"', `src="${main}"`),
    files: Object.fromEntries([
      ...files(chunks, true),
      ...files(client, false),
      ...styles(),
      ...letters(),
      ["/studio/audio/microphone.ts", { text: microphone, type: script, isForever: false }]
    ])
  }
}

/** The names of `PageFiles.ts`, with this page. */
export const pageModule = ({ files: built, html }: BuiltPage): string => `// Made by scripts/StudioPage.ts.
const files = new Map(Object.entries(${JSON.stringify(built)}))
export const pageFiles = {
  html: () => ${JSON.stringify(html)},
  inlineScript: null,
  has: (path) => files.has(path),
  read: (path) => {
    const { isBytes, isForever, text, type } = files.get(path)
    return { content: isBytes ? Buffer.from(text, "base64") : text, type, isForever }
  }
}
`

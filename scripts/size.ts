// Measures the size of every entry in an application: bundled, minified and gzipped, with effect, and only our own code. Some entries have a limit;
// `--gates` measures only those.
import { existsSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { rolldown } from "rolldown"
import { packages, root } from "./Workspace.ts"

/** The limits in bytes of gzip: for our own code (`own`), or for everything with effect (`whole`). */
const gates: Readonly<Record<string, { readonly own?: number; readonly whole?: number }>> = {
  "@colloquy/core": { own: 76_600 },
  "@colloquy/core/answers": { own: 21_000 },
  "@colloquy/core/voice": { own: 26_900 },
  "@colloquy/core/media": { own: 30_000 },
  "@colloquy/core/outputs": { own: 8_500 },
  "@colloquy/core/helpers": { own: 12_600 },
  "@colloquy/core/inspection": { own: 8_600 },
  "@colloquy/core/web-search": { own: 15_000 },
  "@colloquy/core/schedules": { own: 12_000 },
  "@colloquy/core/webhooks": { own: 12_000 },
  "@colloquy/core/evals": { own: 59_900 },
  "@colloquy/http": { whole: 203_900 },
  "@colloquy/http/client": { whole: 45_000 },
  "the client of @colloquy/http": { whole: 45_000 }
}

const isOurs = (name: string) => /^(effect|@colloquy)(\/|$)/.test(name)
const isPath = (name: string) => name.startsWith(".") || name.startsWith("/") || /^[A-Za-z]:\\/.test(name)

const isOwn = (name: string) => name.startsWith("@colloquy/")

const bundle = async (source: string, isPart: (name: string) => boolean): Promise<string> => {
  const build = await rolldown({
    input: source,
    platform: "node",
    external: (name) => !isPath(name) && !isPart(name),
    resolve: { conditionNames: ["colloquy-source", "import", "default"] },
    logLevel: "silent"
  })
  // One file, as from a bundler without code splitting, so that the size includes code that is imported only when it is needed.
  const { output } = await build.generate({ format: "esm", minify: true, codeSplitting: false })
  await build.close()
  return output.map((file) => (file.type === "chunk" ? file.code : "")).join("")
}

/** No application has it in a bundle. */
const isServer = (name: string) => name.startsWith("@colloquy/server")

const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`.padStart(9)

const zippedSize = (code: string): number => gzipSync(code, { level: 9 }).byteLength

console.log(`${"entry".padEnd(36)} own, gzip  with effect: minified, gzip`)
const all = [
  ...packages.flatMap(({ entries }) => entries).filter(({ isTestKit, name }) => !isTestKit && !isServer(name)),
  { name: "the client of @colloquy/http", source: join(root, "scripts/ClientEntry.ts") }
]

const measured = process.argv.includes("--gates") ? all.filter(({ name }) => name in gates) : all
const unknown = Object.keys(gates).filter((gated) => !all.some(({ name }) => name === gated))
if (unknown.length > 0) {
  console.log(`There is no entry ${unknown.join(", ")}, for which there is a gate.`)
  process.exitCode = 1
}

for (const { name, source } of measured) {
  if (!existsSync(source)) {
    console.log(`${name.padEnd(36)}  its source does not exist`)
    process.exitCode = 1
    continue
  }
  const code = await bundle(source, isOurs)
  const sizes = { own: zippedSize(await bundle(source, isOwn)), whole: zippedSize(code) }
  console.log(
    `${name.padEnd(36)}${kilobytes(sizes.own)}${kilobytes(code.length).padStart(16)}${kilobytes(sizes.whole)}`
  )
  for (const [kind, size] of Object.entries(sizes)) {
    const gate = gates[name]?.[kind === "own" ? "own" : "whole"] ?? Infinity
    if (size <= gate) continue
    console.log(
      `${name} (${kind}) is larger than its gate of ${kilobytes(gate).trim()} gzip. See what its entry pulls in before raising the gate.`
    )
    process.exitCode = 1
  }
}

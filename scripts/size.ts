// What an application pays: every entry bundled with effect, minified and gzipped. Some have a gate.
import { existsSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { rolldown } from "rolldown"
import { packages, root } from "./Workspace.ts"

/** Bytes of gzip. */
const gates: Readonly<Record<string, number>> = {
  "@colloquy/core": 60_000,
  "@colloquy/http": 150_000,
  "the client of @colloquy/http": 45_000
}

const isOurs = (name: string) => /^(effect|@colloquy)(\/|$)/.test(name)
const isPath = (name: string) => name.startsWith(".") || name.startsWith("/") || /^[A-Za-z]:\\/.test(name)

const bundle = async (source: string): Promise<string> => {
  const build = await rolldown({
    input: source,
    platform: "node",
    external: (name) => !isPath(name) && !isOurs(name),
    resolve: { conditionNames: ["colloquy-source", "import", "default"] },
    logLevel: "silent"
  })
  const { output } = await build.generate({ format: "esm", minify: true })
  await build.close()
  // What is imported only when it is asked for (the documentation page of http) is not paid by everybody.
  const chunks = new Map(output.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file] as const] : [])))
  const needed = new Set([...chunks.values()].filter((chunk) => chunk.isEntry).map((chunk) => chunk.fileName))
  for (const name of needed) for (const imported of chunks.get(name)?.imports ?? []) needed.add(imported)
  return [...needed].map((name) => chunks.get(name)?.code ?? "").join("")
}

const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(1)} kB`.padStart(9)

console.log(`${"entry, with effect".padEnd(36)} minified     gzip`)
const measured = [
  ...packages.flatMap(({ entries }) => entries).filter(({ isTestKit }) => !isTestKit),
  { name: "the client of @colloquy/http", source: join(root, "scripts/ClientEntry.ts") }
]

for (const { name, source } of measured) {
  if (!existsSync(source)) {
    console.log(`${name.padEnd(36)}  its source does not exist`)
    process.exitCode = 1
    continue
  }
  const code = await bundle(source)
  const zipped = gzipSync(code, { level: 9 }).byteLength
  console.log(`${name.padEnd(36)}${kilobytes(code.length)}${kilobytes(zipped)}`)
  const gate = gates[name] ?? Infinity
  if (zipped > gate) {
    console.log(
      `${name} is larger than its gate of ${kilobytes(gate).trim()} gzip. See what its entry pulls in before raising the gate.`
    )
    process.exitCode = 1
  }
}

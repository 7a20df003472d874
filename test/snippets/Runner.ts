/** Runs programs one after the other in this process, and tells of each what it printed and why it failed. A program of its test. */
import { writeFileSync } from "node:fs"
import { pathToFileURL } from "node:url"
import { inspect } from "node:util"

const [report = "", ...files] = process.argv.slice(2)

const longest = 60_000

const write = process.stdout.write.bind(process.stdout)

const run = async (file: string) => {
  let said = ""
  process.stdout.write = (piece: string | Uint8Array) => {
    said += typeof piece === "string" ? piece : new TextDecoder().decode(piece)
    return true
  }
  let timer: NodeJS.Timeout | undefined
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("It did not end in a minute")), longest)
  })
  try {
    await Promise.race([import(pathToFileURL(file).href), tooLong])
    return { file, said, problem: null }
  } catch (error) {
    return { file, said, problem: inspect(error) }
  } finally {
    clearTimeout(timer)
    process.stdout.write = write
  }
}

const results = []
for (const file of files) {
  results.push(await run(file))
  writeFileSync(report, JSON.stringify(results))
}
// What a program has opened and not closed is no concern of the next one.
process.exit(0)

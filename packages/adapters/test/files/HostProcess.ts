/** A host that reads one text with the script that its first argument names, prints what it got, and has nothing else to do. */
import { fileTypeForExtension, TextExtractor } from "@colloquy/core/documents"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { FileExtractor } from "../../src/files/index.ts"

const [, , script = "", text = ""] = process.argv
const type = fileTypeForExtension("txt")
if (type === undefined) throw new Error("There are no texts any more.")
const bytes = new TextEncoder().encode(text)
const read = TextExtractor.use((files) => files.extract({ type, size: bytes.length, bytes: Stream.make(bytes) }))
const layer = FileExtractor.layer(script === "" ? {} : { worker: new URL(script, import.meta.url) })
const [section] = await Effect.runPromise(Effect.provide(read, layer))
console.log(section?.text)

/**
 * `TextExtractor` for every type of the specification. Each file is read in a process of its own, with a deadline and limits of memory,
 * one after the other. Pictures are read by the host's `ImageReader`. Types whose package is not installed are refused with its name; the log
 * tells at the start which those are.
 */
import {
  acceptedExtensions,
  ExtractionFailed,
  type FileToRead,
  fileTypeOf,
  ImageReader,
  type ImageReaderPort,
  TextExtractor
} from "@colloquy/core/documents"
import type { Section } from "@colloquy/core/retrieval"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import { isInstalled, packageFor, tablesFolder, tablesPackage } from "./Packages.ts"
import { type Bounds, type Ending, readInProcess } from "./ReaderProcess.ts"
import type { FileTask } from "./readFile.ts"
import { damaged, type Refused, tooMuchMemory, tooSlow } from "./Refused.ts"
import { section } from "./Sections.ts"

export interface FileExtractorOptions {
  /** For one file, from the moment it is its turn. Default 30 seconds. */
  readonly deadline?: Duration.Input
  /** What a reader's objects may take, in MB. Default 256. */
  readonly heap?: number
  /** By how much the process that reads may grow, in MB. Default 700. */
  readonly growth?: number
  /** The script of that process, for a host that bundles: the address of `@colloquy/adapters/files/worker` as a file of its own. */
  readonly worker?: URL
  /** For tests of a host without some packages. */
  readonly isInstalled?: (packageName: string) => boolean
}

/** The source runs as it is, the package from its built files. */
const ownWorker = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url)

export const layer = (options: FileExtractorOptions = {}): Layer.Layer<TextExtractor> =>
  Layer.effect(
    TextExtractor,
    Effect.gen(function* () {
      const images = yield* ImageReader
      const turn = yield* Semaphore.make(1)
      const has = options.isInstalled ?? isInstalled
      const missing = (extension: string) => {
        const name = packageFor(extension)
        return name === undefined || has(name) ? undefined : name
      }
      const readable = acceptedExtensions("document").filter((extension) =>
        fileTypeOf(extension)?.family === "image"
          ? images?.readable.includes(extension) === true
          : missing(extension) === undefined
      )
      yield* tellMissing(missing)
      const bounds: Bounds = {
        deadline: Duration.fromInputUnsafe(options.deadline ?? "30 seconds"),
        heap: options.heap ?? 256,
        growth: options.growth ?? 700
      }
      const script = options.worker ?? ownWorker
      const tables = has(tablesPackage) ? tablesFolder() : null

      const read = (extension: string, bytes: Uint8Array) => {
        const task: FileTask = { extension, tables }
        return readInProcess<ReadonlyArray<Section>>(script, task, bytes, bounds).pipe(
          Effect.catch((ending) => Effect.succeed({ refused: refusalOf(ending, bounds) })),
          Effect.flatMap((answer) => ("refused" in answer ? fail(answer.refused) : Effect.succeed(answer.value)))
        )
      }
      return TextExtractor.of({
        readable,
        extract: (file) =>
          Effect.gen(function* () {
            const { extension, family } = file.type
            const name = missing(extension)
            if (name !== undefined)
              return yield* unsupported(
                `.${extension} files cannot be read here: the package ${name} is not installed.`
              )
            if (family === "audio" || family === "video")
              return yield* unsupported("Sound and video have no text that could be read.")
            const bytes = yield* collect(file)
            return family === "image" ? yield* readImage(images, file.type, bytes) : yield* read(extension, bytes)
          }).pipe(turn.withPermits(1))
      })
    })
  )

const fail = ({ message, reason }: Pick<Refused, "message" | "reason">) =>
  Effect.fail(new ExtractionFailed({ reason, sentence: message }))

const unsupported = (message: string) => fail({ reason: "unsupported", message })

const refusalOf = (ending: Ending, { deadline }: Bounds): Refused => {
  switch (ending) {
    case "too_slow":
      return tooSlow(Duration.toSeconds(deadline))
    case "too_much_memory":
      return tooMuchMemory()
    case "died":
      return damaged("file of its type")
  }
}

const tellMissing = (missing: (extension: string) => string | undefined) => {
  const types = acceptedExtensions("document").flatMap((extension) => {
    const name = missing(extension)
    return name === undefined ? [] : `.${extension} (${name})`
  })
  return types.length === 0
    ? Effect.void
    : Effect.logWarning(`Files of these types cannot be read, because a package is not installed: ${types.join(", ")}`)
}

/** Into one buffer of the announced size, from which it is written to the process without a copy. */
const collect = <E, R>({ bytes, size }: FileToRead<E, R>): Effect.Effect<Uint8Array, E, R> =>
  Effect.suspend(() => {
    const whole = new Uint8Array(size)
    let at = 0
    return Effect.as(
      Stream.runForEach(bytes, (chunk) =>
        Effect.sync(() => {
          whole.set(chunk.subarray(0, size - at), at)
          at += chunk.length
        })
      ),
      whole
    )
  })

const readImage = (
  images: ImageReaderPort | null,
  type: FileToRead<never, never>["type"],
  bytes: Uint8Array
): Effect.Effect<ReadonlyArray<Section>, ExtractionFailed> =>
  images === null || !images.readable.includes(type.extension)
    ? unsupported("The words in pictures are not read here.")
    : Effect.map(images.read({ type, bytes }), (text) => section("prose", text))

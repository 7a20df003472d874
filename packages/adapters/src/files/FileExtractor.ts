/**
 * `TextExtractor` for every supported type of file. Files are read one after the other, each in a process of its own with a deadline and
 * limits of memory. Pictures are read by the host's `ImageReader`. A type whose package is not installed is refused with the name of the
 * package, and a warning in the log lists these types at the start.
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
  /** How long reading one file may take; the wait for earlier files does not count. Default 30 seconds. */
  readonly deadline?: Duration.Input
  /** The largest JavaScript heap of the process that reads, in MB. Default 256. */
  readonly heap?: number
  /** By how many MB the process that reads may grow while it reads. Default 700. */
  readonly growth?: number
  /** The script of that process. A host that bundles its code passes the URL of `@colloquy/adapters/files/worker` as a separate file. */
  readonly worker?: URL
  /** For tests: pretends that some packages are not installed. */
  readonly isInstalled?: (packageName: string) => boolean
}

/** In this repository the TypeScript source runs directly; the published package runs its built file. */
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
      yield* warnOfMissing(missing)
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
                `This server cannot read .${extension} files, because the package ${name} is not installed.`
              )
            if (family === "audio" || family === "video")
              return yield* unsupported("Audio and video files contain no text to extract.")
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

const warnOfMissing = (missing: (extension: string) => string | undefined) => {
  const types = acceptedExtensions("document").flatMap((extension) => {
    const name = missing(extension)
    return name === undefined ? [] : `.${extension} (${name})`
  })
  return types.length === 0
    ? Effect.void
    : Effect.logWarning(`Files of these types cannot be read. Install the packages named here: ${types.join(", ")}`)
}

/** Collects a file in one buffer of the announced size, which is then written to the process without copying. */
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
    ? unsupported("This server does not extract text from pictures of this type.")
    : Effect.map(images.read({ type, bytes }), (text) => section("prose", text))

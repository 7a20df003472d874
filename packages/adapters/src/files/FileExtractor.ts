/**
 * `TextExtractor` for every supported type of file. Each file is read and its text cut in a process of its own, with a deadline and limits of
 * memory, in turns by owner (`ReadingLanes`). Pictures are read by the host's `ImageReader`. A type whose package is not installed is refused
 * with the name of the package, and a warning in the log lists these types at the start.
 */
import {
  acceptedExtensions,
  cutText,
  type ExtractionFailed,
  type FileToRead,
  type FileType,
  fileTypeForExtension,
  ImageReader,
  type ImageReaderPort,
  type TextCutting,
  TextExtractor
} from "@colloquy/core/documents"
import type { Language, Section } from "@colloquy/core/retrieval"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { isInstalled, packageFor, tablesFolder, tablesPackage } from "./Packages.ts"
import type { ChunkPart } from "./prepareFile.ts"
import { type Bounds, readInProcess } from "./ReaderProcess.ts"
import { readerRights, type ReaderUser } from "./ReaderRights.ts"
import type { FileTask } from "./readFile.ts"
import { collect, makeReadingLanes, refuse } from "./ReadingLanes.ts"
import { receivedChunks } from "./ReceivedChunk.ts"
import { section } from "./Sections.ts"

/** Time, memory and rights of the processes that read files. */
export interface FileExtractorOptions {
  /** How long reading one file and cutting its text may take; the wait for earlier files does not count. Default one minute. */
  readonly deadline?: Duration.Input
  /** The largest JavaScript heap of the process that reads, in MB. Default 512. */
  readonly heap?: number
  /** By how many MB the process that reads may grow while it reads. Default 700. */
  readonly growth?: number
  /** How many files are read at once, of different owners. As many small ones are read beside them. Default 2. */
  readonly atOnce?: number
  /** The user of the system under which files are read. Default: the host's own. */
  readonly user?: ReaderUser
  /** The script of that process. A host that bundles its code passes the URL of `@colloquy/adapters/files/worker` as a separate file. */
  readonly worker?: URL
  /** Names of packages that count as not installed, for tests. */
  readonly isInstalled?: (packageName: string) => boolean
}

/** In this repository the TypeScript source runs directly; the published package runs its built file. */
const ownWorker = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url)

/** Reads the text of PDF, Word, Excel, HTML and other files, in processes of their own. */
export const layer = (options: FileExtractorOptions = {}): Layer.Layer<TextExtractor> =>
  Layer.effect(
    TextExtractor,
    Effect.gen(function* () {
      const images = yield* ImageReader
      const has = options.isInstalled ?? isInstalled
      const missing = (extension: string) => {
        const name = packageFor(extension)
        return name === undefined || has(name) ? undefined : name
      }
      const readable = acceptedExtensions("document").filter((extension) =>
        fileTypeForExtension(extension)?.family === "image"
          ? images?.readable.includes(extension) === true
          : missing(extension) === undefined
      )
      yield* warnOfMissing(missing)
      const bounds: Bounds = {
        deadline: Duration.fromInputUnsafe(options.deadline ?? "1 minute"),
        heap: options.heap ?? 512,
        growth: options.growth ?? 700
      }
      const readInLane = yield* makeReadingLanes(bounds, options.atOnce ?? 2)
      const tables = has(tablesPackage) ? tablesFolder() : null
      const rights = readerRights({
        script: options.worker ?? ownWorker,
        folders: tables === null ? [] : [tables],
        user: options.user
      })

      const readingTask = ({ extension, family }: FileType, cutting: TextCutting | null) => {
        const name = missing(extension)
        if (name !== undefined)
          return unsupported(
            `This server cannot read .${extension} files, because the package ${name} is not installed.`
          )
        if (family === "audio" || family === "video")
          return unsupported("Audio and video files contain no text to extract.")
        return Effect.succeed<FileTask>({ extension, tables, cutting })
      }
      const readPicture = <E, R>(file: FileToRead<E, R>) =>
        Effect.flatMap(collect(file), (bytes) => readImage(images, file.type, bytes))

      return TextExtractor.of({
        readable,
        extract: Effect.fnUntraced(function* (file) {
          if (file.type.family === "image") return yield* readPicture(file)
          const task = yield* readingTask(file.type, null)
          const { value } = yield* readInLane(file, (bytes, limits) =>
            readInProcess<ReadonlyArray<Section>>(rights, task, bytes, limits)
          )
          return value
        }),
        prepare: Effect.fnUntraced(function* (file, cutting) {
          if (file.type.family === "image") return yield* cutText(yield* readPicture(file), cutting)
          const task = yield* readingTask(file.type, cutting)
          const { parts, value } = yield* readInLane(file, (bytes, limits) =>
            readInProcess<Language, ChunkPart>(rights, task, bytes, limits)
          )
          return { language: value, chunks: receivedChunks(parts) }
        })
      })
    })
  )

const unsupported = (message: string) => refuse({ reason: "unsupported", message })

const warnOfMissing = (missing: (extension: string) => string | undefined) => {
  const types = acceptedExtensions("document").flatMap((extension) => {
    const name = missing(extension)
    return name === undefined ? [] : `.${extension} (${name})`
  })
  return types.length === 0
    ? Effect.void
    : Effect.logWarning(`Files of these types cannot be read. Install the packages named here: ${types.join(", ")}`)
}

const readImage = (
  images: ImageReaderPort | null,
  type: FileToRead<never, never>["type"],
  bytes: Uint8Array
): Effect.Effect<ReadonlyArray<Section>, ExtractionFailed> =>
  images === null || !images.readable.includes(type.extension)
    ? unsupported("This server does not extract text from pictures of this type.")
    : Effect.map(images.read({ type, bytes }), (text) => section("prose", text))

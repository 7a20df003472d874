/**
 * `ImageReader` that recognises text in pictures with Tesseract, on this machine and without a network. The host installs the package
 * `tesseract.js`, and `@tesseract.js-data/…` for its language. Each picture is read in a process of its own, in turns by owner, because
 * reading one takes hundreds of megabytes.
 */
import { makeFairQueue } from "@colloquy/core/adapters"
import { ExtractionFailed, ImageReader } from "@colloquy/core/documents"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { findPackageJSON } from "node:module"
import { dirname, join } from "node:path"
import { isInstalled } from "./Packages.ts"
import { pictureSize } from "./PictureSize.ts"
import { type Bounds, type Ending, readInProcess } from "./ReaderProcess.ts"
import { readerRights, type ReaderUser } from "./ReaderRights.ts"
import type { PictureTask } from "./readPicture.ts"
import { damagedPicture } from "./Refused.ts"

/** The language of the words in pictures, and the time and rights of the process that reads them. */
export interface TesseractOptions {
  /** The language, whose package must be installed: `eng` needs `@tesseract.js-data/eng`. Default `eng`. */
  readonly language?: string
  /** How long reading one picture may take. Default one minute. */
  readonly deadline?: Duration.Input
  /** By how many MB the process that reads may grow. Default 1,500; a picture of 40 million pixels needs 800. */
  readonly growth?: number
  /** How many pictures are read at once, of different owners. Default 2. */
  readonly atOnce?: number
  /** The user of the system under which pictures are read. Default: the host's own. */
  readonly user?: ReaderUser
  /** The script of that process. A host that bundles its code passes the URL of `@colloquy/adapters/tesseract/worker` as a separate file. */
  readonly worker?: URL
}

/** The supported types. Of TIFF, only the variants that scanners write are supported. */
const readable = ["png", "jpg", "jpeg", "webp", "gif", "bmp", "tiff", "tif"]

/** A larger picture would take minutes and gigabytes. */
const mostPixels = 40_000_000

/** In this repository the TypeScript source runs directly; the published package runs its built file. */
const ownWorker = new URL(
  import.meta.url.endsWith(".ts") ? "./tesseractWorker.ts" : "./tesseractWorker.js",
  import.meta.url
)

/** Reads the words in pictures and in scanned pages with Tesseract. */
export const layer = (options: TesseractOptions = {}): Layer.Layer<never> =>
  Layer.effect(
    ImageReader,
    Effect.gen(function* () {
      const { language = "eng" } = options
      const bounds: Bounds = {
        deadline: Duration.fromInputUnsafe(options.deadline ?? "1 minute"),
        heap: 256,
        growth: options.growth ?? 1_500
      }
      const task: PictureTask = { language, folder: languageFolder(language) }
      const rights = readerRights({
        script: options.worker ?? ownWorker,
        folders: [task.folder],
        threads: true,
        user: options.user
      })
      const atOnce = options.atOnce ?? 2
      const { inTurn } = yield* makeFairQueue({ atOnce, share: 1 })
      return {
        readable,
        read: Effect.fnUntraced(function* ({ bytes }) {
          const size = pictureSize(bytes)
          if (size !== undefined && size.width * size.height > mostPixels) {
            return yield* fail("too_large", "The picture is too large to be read: it has more than 40 million pixels.")
          }
          const answer = yield* Effect.catch(readInProcess<string>(rights, task, bytes, bounds), (ending) =>
            failWith(ending, bounds)
          )
          return "refused" in answer ? yield* fail(answer.refused.reason, answer.refused.message) : answer.value
        }, inTurn)
      }
    })
  )

const fail = (reason: ExtractionFailed["reason"], sentence: string) =>
  Effect.fail(new ExtractionFailed({ reason, sentence }))

const failWith = (ending: Ending, { deadline }: Bounds) => {
  switch (ending) {
    case "too_slow":
      return fail("too_slow", `The picture could not be read within ${Duration.toSeconds(deadline)} seconds.`)
    case "too_much_memory":
      return fail("too_large", "The picture is too large to be read: it needs more memory than one picture may take.")
    case "died":
      return fail("damaged", damagedPicture().message)
  }
}

/** Throws when a package is not installed. The host then notices its mistake when the layer is built. */
const languageFolder = (language: string): string => {
  if (!isInstalled("tesseract.js")) throw new Error("Install the package tesseract.js.")
  const found = findPackageJSON(`@tesseract.js-data/${language}`, import.meta.url)
  if (found !== undefined) return join(dirname(found), "4.0.0_best_int")
  throw new Error(`Install the package @tesseract.js-data/${language}, or name another language.`)
}

/**
 * Words in pictures by Tesseract, in the process and without a network: `ImageReader` for a host that adds the packages `tesseract.js` and
 * one `@tesseract.js-data/…` for each language. One picture at a time, because each takes hundreds of megabytes while it is read.
 */
import { ExtractionFailed, ImageReader } from "@colloquy/core/documents"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import { findPackageJSON } from "node:module"
import { dirname, join } from "node:path"
import { createWorker, OEM, type Worker } from "tesseract.js"
import { pictureSize } from "./PictureSize.ts"

export interface TesseractOptions {
  /** The package of this language's data must be installed: `eng` for `@tesseract.js-data/eng`. Default `eng`. */
  readonly language?: string
  /** For one picture. Default one minute. */
  readonly deadline?: Duration.Input
}

/** What it reads; TIFF only as scanners write it. */
const readable = ["png", "jpg", "jpeg", "webp", "gif", "bmp", "tiff", "tif"]

/** Beyond it a picture takes minutes and gigabytes. */
const mostPixels = 40_000_000

/** Words that it is less sure of are mostly none: a picture without text, or one that is turned. */
const leastConfidence = 60

export const layer = (options: TesseractOptions = {}): Layer.Layer<never> =>
  Layer.effect(
    ImageReader,
    Effect.gen(function* () {
      const { language = "eng" } = options
      const deadline = Duration.fromInputUnsafe(options.deadline ?? "1 minute")
      const folder = folderOf(language)
      const turn = yield* Semaphore.make(1)
      return {
        readable,
        read: ({ bytes }) =>
          Effect.gen(function* () {
            const size = pictureSize(bytes)
            if (size !== undefined && size.width * size.height > mostPixels) {
              return yield* fail(
                "too_large",
                "The picture is too large to be read: it has more than 40 million pixels."
              )
            }
            return yield* Effect.timeoutOrElse(recognise(language, folder, bytes), {
              duration: deadline,
              orElse: () =>
                fail("too_slow", `The picture could not be read within ${Duration.toSeconds(deadline)} seconds.`)
            })
          }).pipe(turn.withPermits(1))
      }
    })
  )

const fail = (reason: ExtractionFailed["reason"], sentence: string) =>
  Effect.fail(new ExtractionFailed({ reason, sentence }))

/** A worker for each picture: what a bad one leaves in its memory ends with it. */
const recognise = (language: string, folder: string, bytes: Uint8Array): Effect.Effect<string, ExtractionFailed> =>
  Effect.acquireUseRelease(
    Effect.promise(() => openWorker(language, folder)),
    (worker) =>
      Effect.catch(
        Effect.tryPromise(() => worker.recognize(Buffer.from(bytes))),
        () => fail("damaged", "The picture is damaged, or of a kind that cannot be read.")
      ),
    (worker) => Effect.promise(() => worker.terminate())
  ).pipe(Effect.map(({ data }) => (data.confidence < leastConfidence ? "" : data.text.trim())))

/** The data of a language that is not installed is a mistake of the host's, and shows when the layer is built. */
const folderOf = (language: string): string => {
  const found = findPackageJSON(`@tesseract.js-data/${language}`, import.meta.url)
  if (found !== undefined) return join(dirname(found), "4.0.0_best_int")
  throw new Error(`Install the package @tesseract.js-data/${language}, or name another language.`)
}

const openWorker = (language: string, folder: string): Promise<Worker> =>
  createWorker([language], OEM.LSTM_ONLY, {
    langPath: folder,
    cacheMethod: "none",
    gzip: true,
    // Without it a bad picture would end the process.
    errorHandler: () => {}
  })

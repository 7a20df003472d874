/**
 * `PictureConverter` for a host that installs the package `sharp`. Large pictures are scaled down to the limits of a vendor; TIFF, BMP and GIF are
 * converted to PNG or JPEG. Each picture is converted in a process of its own with limits of pixels, memory and time, in turns by owner, because
 * users upload them and `sharp` is native code.
 */
import { makeFairQueue } from "@colloquy/core/adapters"
import { type Picture, PictureConverter, PictureUnreadable } from "@colloquy/core/documents"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Bounds, type Ending, readInProcess } from "../files/ReaderProcess.ts"
import { readerRights, type ReaderUser } from "../files/ReaderRights.ts"
import type { ConversionTask } from "./convertPicture.ts"

/** Time, memory and rights of the processes that make pictures smaller. */
export interface SharpOptions {
  /** How many pictures are converted at once, of different owners. Default 2. */
  readonly atOnce?: number
  /** How long one picture may take. Default one minute. */
  readonly deadline?: Duration.Input
  /** By how many MB the process that converts may grow. Default 1,000; a picture of 60 million pixels needs 400. */
  readonly growth?: number
  /** The user of the system under which pictures are converted. Default: the host's own. */
  readonly user?: ReaderUser
  /** The script of that process. A host that bundles its code passes the URL of `@colloquy/adapters/sharp/worker` as a separate file. */
  readonly worker?: URL
}

const readable = ["image/png", "image/jpeg", "image/webp", "image/gif", "image/tiff", "image/bmp"]

/** In this repository the TypeScript source runs directly; the published package runs its built file. */
const ownWorker = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url)

/** Makes pictures smaller for models, with the given settings. */
export const layerWith = (options: SharpOptions): Layer.Layer<never> =>
  Layer.effect(
    PictureConverter,
    Effect.gen(function* () {
      const { inTurn } = yield* makeFairQueue({ atOnce: options.atOnce ?? 2, share: 1 })
      const rights = readerRights({ script: options.worker ?? ownWorker, addons: true, user: options.user })
      const bounds: Bounds = {
        deadline: Duration.fromInputUnsafe(options.deadline ?? "1 minute"),
        heap: 256,
        growth: options.growth ?? 1_000
      }
      return {
        reads: (mimeType) => readable.includes(mimeType),
        convert: ({ bytes, mimeType }, limits) => {
          const task: ConversionTask = { mimeType, limits }
          return readInProcess<Picture>(rights, task, bytes, bounds).pipe(
            Effect.mapError((ending) => new PictureUnreadable({ sentence: endingSentence(ending, bounds) })),
            Effect.flatMap((answer) =>
              "refused" in answer
                ? Effect.fail(new PictureUnreadable({ sentence: answer.refused.message }))
                : Effect.succeed(answer.value)
            ),
            inTurn
          )
        }
      }
    })
  )

/** `layerWith` with the usual settings. */
export const layer: Layer.Layer<never> = layerWith({})

const endingSentence = (ending: Ending, { deadline }: Bounds): string =>
  ending === "too_slow"
    ? `The picture could not be converted within ${Duration.toSeconds(deadline)} seconds. Upload a smaller picture.`
    : "The picture cannot be read: it is damaged or too large."

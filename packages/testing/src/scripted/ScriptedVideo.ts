/**
 * A video model that plays a script: the result of an order, the result of each status request, and the bytes of the clip. It records every
 * order, so that a test can check how many there were. It uses no network, no randomness, and only the test's clock.
 */
import { type ModelInfo, type Provider } from "@colloquy/core"
import {
  describeModel,
  ModelError,
  type ModelErrorReason,
  type VideoJob,
  type VideoJobStatus,
  type VideoModel,
  type VideoOrder
} from "@colloquy/core/adapters"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

/** The result of a status request: a status with its data, an unknown job, or an error. */
export type Look =
  | VideoJobStatus
  | "unknown"
  | (Partial<VideoJob> & Pick<VideoJob, "status">)
  | { readonly fails: ModelErrorReason; readonly retryAfterMillis?: number }

/** How a provider of clips behaves in a test: its models, and what it says to an order, to each look and to the download. All is optional. */
export interface VideoScript {
  /** The provider's id. Default: `router`. */
  readonly id?: string
  /** The models in the provider's list. Default: one model, `acme/clip`, without further data. */
  readonly models?: ReadonlyArray<Partial<ModelInfo> & Pick<ModelInfo, "name">>
  /** The error of the list of models, if it fails. */
  readonly listFails?: ModelErrorReason
  /** The result of an order. Default: a pending job. */
  readonly order?: Look | "hangs"
  /** The results of status requests, in order; the last one is repeated. Default: completed, for 0.25 dollars. */
  readonly looks?: ReadonlyArray<Look>
  /** The bytes of the clip or an error, for each attempt to download it; the last one is repeated. */
  readonly clips?: ReadonlyArray<Stream.Stream<Uint8Array, ModelErrorReason>>
}

/** A model of videos that follows a script, and its orders. */
export interface ScriptedVideo {
  readonly provider: Provider
  readonly orders: ReadonlyArray<VideoOrder>
  /** The number of status requests. */
  readonly looks: () => number
  readonly downloads: () => number
  /** Lets an order continue that hangs. */
  readonly release: Effect.Effect<void>
}

/** The beginning of an MP4 file, which is enough to be recognised as one. */
export const sampleClip: Uint8Array = new TextEncoder().encode(
  "\0\0\0\u0018ftypisom\0\0\u0002\0isommp41\0\0\0\u0008free"
)

const completed: Look = { status: "completed", costUsd: 0.25 }

/** Makes such a model. */
export const make = (script: VideoScript = {}): ScriptedVideo => {
  const { clips = [Stream.make(sampleClip)], id = "router", looks = [completed], order = "pending" } = script
  const models = script.models ?? [{ name: "acme/clip" }]
  const orders: Array<VideoOrder> = []
  const released = Deferred.makeUnsafe<void>()
  let looked = 0
  let downloads = 0

  const fault = (reason: ModelErrorReason, retryAfterMillis?: number) =>
    new ModelError({
      reason,
      provider: id,
      model: models[0]?.name ?? "",
      ...(retryAfterMillis === undefined ? {} : { retryAfterMillis })
    })

  const answer = (look: Look, jobId: string): Effect.Effect<Option.Option<VideoJob>, ModelError> => {
    if (look === "unknown") return Effect.succeedNone
    const seen = typeof look === "string" ? { status: look } : look
    if ("fails" in seen) return Effect.fail(fault(seen.fails, seen.retryAfterMillis))
    const rest = { id: jobId, costUsd: null, problem: null, retryAfterMillis: null }
    return Effect.succeedSome({ ...rest, ...seen })
  }

  const model: VideoModel = {
    submit: (asked) =>
      Effect.gen(function* () {
        orders.push(asked)
        if (order === "hangs") yield* Deferred.await(released)
        const job = yield* answer(order === "hangs" ? "pending" : order, `job-${orders.length}`)
        return Option.isSome(job) ? job.value : yield* fault("malformed")
      }),
    status: (jobId) => Effect.suspend(() => answer(looks[looked++] ?? looks.at(-1) ?? completed, jobId)),
    content: () =>
      Stream.suspend(() => {
        const clip = clips[downloads++] ?? clips.at(-1) ?? Stream.empty
        return Stream.mapError(clip, (reason) => fault(reason))
      }),
    listModels: Effect.suspend(() =>
      script.listFails === undefined
        ? Effect.succeed(models.map((info) => describeModel({ ...info, provider: id, modelType: "video" })))
        : Effect.fail(fault(script.listFails))
    )
  }

  return {
    provider: { id, video: model },
    orders,
    looks: () => looked,
    downloads: () => downloads,
    release: Effect.asVoid(Deferred.succeed(released, undefined))
  }
}

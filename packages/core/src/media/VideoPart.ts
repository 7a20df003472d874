/**
 * How videos join a turn: a message that enables them (`TurnRequest.options.video`: provider, model, config) adds the tool
 * `generate_video`. Its settings are checked against the provider's current list of models, and every problem is refused before anything is
 * stored. The model's entry is stored with the plan, so that a turn that is resumed later offers the same tool.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import { Catalog } from "../catalog/Catalog.ts"
import type { BlobStore } from "../documents/BlobStore.ts"
import type { DocumentLinks } from "../documents/DocumentLinks.ts"
import type { DocumentStore } from "../documents/DocumentStore.ts"
import type { UsageLedger } from "../metering/UsageLedger.ts"
import type { ModelError } from "../models/ModelError.ts"
import { ModelInfo } from "../models/ModelInfo.ts"
import { Providers } from "../models/Provider.ts"
import { VideoOptions } from "../models/VideoModel.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import type { RunStore } from "../runs/RunStore.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import { type HostedCall, HostedToolFailed, type HostedTool } from "../tools/HostedTool.ts"
import { TurnRefused } from "../turns/TurnErrors.ts"
import type { TurnCase, TurnPart } from "../turns/TurnPart.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import { defaultMediaSettings, MediaSettings } from "./MediaSettings.ts"
import { withDefaults } from "../primitives/Settings.ts"
import type { QuotaStore } from "../metering/QuotaStore.ts"
import { MediaStorage } from "./MediaStorage.ts"
import { videoAbilities } from "./VideoAbilities.ts"
import { expectedPrice, readVideoOptions, refusedOptions, type VideoProblem } from "./VideoConfig.ts"
import { callTime } from "./VideoClip.ts"
import { makeVideoInputs } from "./VideoInputs.ts"
import { VideoJobs } from "./VideoJobs.ts"
import { makeReattachWorker } from "./VideoReattach.ts"
import { VideoSettings } from "./VideoSettings.ts"
import { readVideoCall, videoToolFor } from "./VideoTool.ts"
import { wordsOfProblems } from "./VideoWords.ts"

/** The name of this part of turns, of its options and of its supplements. */
export const videoPartName = "video"

const Options = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  config: Schema.optionalKey(Schema.Json)
})

const VideoPlan = Schema.Struct({ model: ModelInfo, config: VideoOptions })
type VideoPlan = typeof VideoPlan.Type

const makePart = Effect.gen(function* () {
  const catalog = yield* Catalog
  const keys = yield* ProviderKeys
  const { all: providers } = yield* Providers
  const settings = yield* VideoSettings
  const findInputs = yield* makeVideoInputs
  const jobs = yield* VideoJobs

  const findEntry = (provider: string, model: string): Effect.Effect<ModelInfo, TurnRefused> =>
    Effect.flatMap(
      Effect.mapError(catalog.video(provider, model), notListed),
      Option.match({
        onNone: () =>
          refuse("not_found", [{ path: ["model"], message: `There is no model "${model.slice(0, 255)}" for videos.` }]),
        onSome: Effect.succeed
      })
    )

  const planVideo = Effect.fnUntraced(function* (turn: TurnCase) {
    if (turn.options === undefined) return null
    const asked = decodeOptions(turn.options)
    if (Option.isNone(asked)) return yield* refuse("invalid", [{ path: [], message: "Name a provider and a model." }])
    const { config, model, provider } = asked.value
    const able = providers.filter(({ video }) => video !== undefined).map(({ id }) => id)
    const { options, problems } = readVideoOptions(config)
    const wrong = [
      ...(able.includes(provider)
        ? []
        : [
            {
              path: ["provider"],
              message: `This provider makes no videos. Choose one of: ${able.join(", ") || "none"}.`
            }
          ]),
      ...problems.map(inConfig)
    ]
    if (!able.includes(provider)) return yield* refuse("invalid", wrong)
    const entry = yield* Effect.catchIf(
      findEntry(provider, model),
      () => wrong.length > 0,
      () => refuse("invalid", wrong)
    )
    const all = [...wrong, ...refusedOptions(options, videoAbilities(entry)).map(inConfig)]
    if (all.length > 0) return yield* refuse("invalid", all)
    return { model: entry, config: options }
  })

  const runTool = Effect.fnUntraced(function* (
    { config, model: info }: VideoPlan,
    abilities: ReturnType<typeof videoAbilities>,
    args: Schema.JsonObject,
    call: HostedCall
  ) {
    const asked = readVideoCall(args, config, abilities)
    if (Result.isFailure(asked)) return yield* new HostedToolFailed({ message: wordsOfProblems(asked.failure) })
    const { dropped, inputs, options, prompt } = asked.success
    const model = providers.find(({ id }) => id === info.provider)?.video
    if (model === undefined) return yield* new HostedToolFailed({ message: "The provider is no longer registered." })
    const found = yield* findInputs(inputs, abilities, call)
    const apiKey = yield* Effect.catchTag(keys.find(info.provider), "StoreUnavailable", () =>
      Effect.fail(
        new HostedToolFailed({ message: "No video was ordered: the server's store is unavailable. Try later." })
      )
    )
    const order = { provider: info.provider, model: info.name, apiKey, prompt, options, ...found }
    return yield* jobs.make({ model, order, price: expectedPrice(options, abilities), dropped }, call)
  })

  const videoTool = (plan: VideoPlan): HostedTool => {
    const abilities = videoAbilities(plan.model)
    return {
      definition: videoToolFor(abilities, plan.config),
      timeout: callTime(settings),
      run: (args, call) => runTool(plan, abilities, args, call)
    }
  }

  const part: TurnPart<VideoPlan> = {
    name: videoPartName,
    plan: VideoPlan,
    concerns: ({ options }) => options !== undefined,
    refuse: (turn) => Effect.asVoid(planVideo(turn)),
    decide: (turn) =>
      Effect.map(planVideo(turn), (plan) => (plan === null || turn.request.sendToModel === false ? null : { plan })),
    tools: (plan) => [videoTool(plan)]
  }
  return part
})

/** Its own, because the wing of pictures sets other limits. */
const storage = Layer.unwrap(
  Effect.map(VideoSettings, ({ maxSize }) =>
    Layer.provide(
      Layer.fresh(MediaStorage.layer),
      Layer.succeed(MediaSettings, withDefaults(defaultMediaSettings, { maxSize: { video: maxSize } }))
    )
  )
)

/** Joins the turns of a kernel: a layer over `Kernel.layer`, the stores of documents and `DocumentLinks.layer`. */
export const videoPart: Layer.Layer<
  never,
  never,
  | BlobStore
  | Catalog
  | DocumentLinks
  | DocumentStore
  | FollowUps
  | Providers
  | QuotaStore
  | RunStore
  | ThreadStore
  | TurnParts
  | UsageLedger
> = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* (yield* TurnParts).register(yield* makePart)
    const { reattach } = yield* VideoSettings
    if (reattach) yield* (yield* FollowUps).register(yield* makeReattachWorker)
  })
).pipe(Layer.provide(VideoJobs.layer), Layer.provide(storage))

const decodeOptions = Schema.decodeUnknownOption(Options)

const inConfig = ({ message, path }: VideoProblem): VideoProblem => ({ message, path: ["config", ...path] })

const refuse = (
  reason: TurnRefused["reason"],
  problems: ReadonlyArray<VideoProblem>
): Effect.Effect<never, TurnRefused> => Effect.fail(new TurnRefused({ part: videoPartName, reason, problems }))

const notListed = ({ reason }: ModelError): TurnRefused =>
  new TurnRefused({
    part: videoPartName,
    reason: reason === "timeout" ? "provider_timeout" : "provider_failed",
    problems: [{ path: ["model"], message: "The provider's list of models for videos cannot be read at the moment." }]
  })

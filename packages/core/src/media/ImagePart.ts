/**
 * How pictures join a turn, as the part "image". With `image_generation: "auto"` the conversation's model gets the tool `generate_image`
 * and may use it. Pictures that a conversation's model makes itself are handled in the same way, in every turn: stored as documents of the
 * thread, told when they arrive, kept with the answer.
 *
 * Options: `{ provider, model, config? }`, the message's `image_model_provider`, `image_model_name` and `image_config`.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { QuotaStore } from "../metering/QuotaStore.ts"
import type { InsufficientCredit } from "../metering/Metering.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Principal } from "../access/Principal.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import { Catalog } from "../catalog/Catalog.ts"
import type { BlobStore } from "../documents/BlobStore.ts"
import type { DocumentStore } from "../documents/DocumentStore.ts"
import { paid, unknownCharge } from "../metering/PaidCall.ts"
import { type ImageModel, ImageOptions, type InputImage } from "../models/ImageModel.ts"
import { ModelError } from "../models/ModelError.ts"
import { Providers } from "../models/Provider.ts"
import { mayHaveBeenOrdered } from "../models/VideoModel.ts"
import { type HostedCall, type HostedTool, HostedToolFailed } from "../tools/HostedTool.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import { repeatWhileUnavailable } from "../primitives/StoreRetry.ts"
import { TurnRefused } from "../turns/TurnErrors.ts"
import type { ModelOutput, TurnCase, TurnPart } from "../turns/TurnPart.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import { type GeneratedMedia, type MediaType, shareMedia } from "./GeneratedMedia.ts"
import {
  imageAbilities,
  checkImageOptions,
  ImageAbilities,
  type ImageOrder,
  type ImageProblem,
  imageTool,
  readImageCall
} from "./ImageConfig.ts"
import { MediaSettings } from "./MediaSettings.ts"
import { MediaStorage } from "./MediaStorage.ts"

/** The name of the part that draws pictures. */
export const imagePartName = "image"

/** How long a picture is stored again while the database is unavailable. */
const storingTime = "30 seconds"

const ImagePlan = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  config: ImageOptions,
  abilities: ImageAbilities
})
type ImagePlan = typeof ImagePlan.Type

const makePart = Effect.gen(function* () {
  const catalog = yield* Catalog
  const keys = yield* ProviderKeys
  const { all: providers } = yield* Providers
  const { imageTimeout, maxInputSize } = yield* MediaSettings
  const storage = yield* MediaStorage

  const findImageModel = (provider: string): ImageModel | undefined =>
    providers.find(({ id }) => id === provider)?.image

  const planImages = Effect.fnUntraced(function* ({ options }: TurnCase) {
    if (options === undefined) return null
    const { config = {}, model, provider } = isObject(options) ? options : {}
    const problems: Array<ImageProblem> = []
    if (!isText(provider)) problems.push({ path: ["provider"], message: "Name the provider of the image model." })
    else if (findImageModel(provider) === undefined) problems.push(noSuchProvider(provider))
    if (!isText(model)) problems.push({ path: ["model"], message: "Name the image model." })
    if (!isObject(config)) problems.push({ path: ["config"], message: "The options of the picture are an object." })
    if (problems.length > 0 || !isText(provider) || !isText(model) || !isObject(config)) return yield* refuse(problems)
    const abilities = imageAbilities(yield* catalog.describe(provider, model, "image"))
    const checked = checkImageOptions(config, abilities)
    if (Result.isFailure(checked)) return yield* refuse(checked.failure.map(inConfig))
    const plan: ImagePlan = { provider, model, config: checked.success, abilities }
    return plan
  })

  const decide = (turn: TurnCase) =>
    Effect.map(planImages(turn), (plan) => (plan === null || turn.request.sendToModel === false ? null : { plan }))

  const noSuchProvider = (provider: string): ImageProblem => {
    const known = providers.flatMap(({ id, image }) => (image === undefined ? [] : [id]))
    const message = `There is no provider "${provider.slice(0, 100)}" for images. Registered: ${known.join(", ") || "none"}.`
    return { path: ["provider"], message }
  }

  const readInput = Effect.fnUntraced(
    function* (id: string, call: HostedCall) {
      const document = yield* storage.find(id, call)
      if (!document.mimeType.startsWith("image/")) return yield* failed(`The document ${id} is no picture.`)
      if (document.size > maxInputSize) return yield* failed(`The picture ${id} is too large to begin with.`)
      const bytes = yield* Stream.mkUint8Array(storage.bytes(document))
      const input: InputImage = { mediaType: document.mimeType, bytes }
      return input
    },
    (reading, id) =>
      Effect.catchTags(reading, {
        BlobNotFound: () => failed(`The document ${id} is gone.`),
        DocumentNotFound: () => failed(`This conversation has no document ${id.slice(0, 100)}.`),
        StoreUnavailable: () => failed("The documents cannot be read at the moment.")
      })
  )

  /** Makes the pictures. It succeeds if at least one of them could be stored. */
  const generate = Effect.fnUntraced(function* (plan: ImagePlan, order: ImageOrder, call: HostedCall) {
    const image = findImageModel(plan.provider)
    if (image === undefined) return yield* failed("The image model is not there any more.")
    yield* Effect.mapError(storage.ensureRoom("image"), ({ message }) => failedWith(`No picture was made. ${message}`))
    yield* Effect.mapError(call.ensureCredit({ purpose: imagePartName, amountUsd: null }), creditFailure)
    const inputs = yield* Effect.forEach(order.inputs, (id) => readInput(id, call))
    const apiKey = yield* Effect.mapError(keys.find(plan.provider), storeFailure)
    const { model, provider } = plan
    const { options, prompt } = order
    const payee = { provider, model, purpose: imagePartName }
    const answer = yield* paid(call.beginCharge, {
      payee,
      call: image.generate({ provider, model, prompt, inputs, options, apiKey }).pipe(
        Effect.timeoutOrElse({
          duration: imageTimeout,
          orElse: () => Effect.fail(new ModelError({ reason: "timeout", provider, model }))
        })
      ),
      charges: ({ model: by, usage }) => [{ ...payee, model: by ?? model, usage }],
      chargesOfFailure: (error) =>
        error.usage !== undefined
          ? [{ ...payee, usage: error.usage }]
          : mayHaveBeenOrdered(error)
            ? [unknownCharge(payee)]
            : []
    }).pipe(Effect.mapError((error) => new HostedToolFailed({ message: wordsOfFailure(error) })))
    const made = yield* Effect.forEach(answer.images, (bytes) =>
      Effect.result(keep(call, "image", Stream.make(bytes), { model }))
    )
    const kept = made.flatMap((each) => (Result.isSuccess(each) ? [each.success] : []))
    const [fault] = made.flatMap((each) => (Result.isFailure(each) ? [each.failure] : []))
    return kept.length === 0 && fault !== undefined ? yield* failed(fault.message) : kept
  })

  const keep = (turn: LiveTurn, mediaType: MediaType, bytes: Stream.Stream<Uint8Array>, metadata: Schema.JsonObject) =>
    // It is paid for: while the database is unavailable, it is stored again and again.
    Effect.tap(
      repeatWhileUnavailable(storage.store({ threadId: turn.threadId, mediaType, bytes, metadata }), storingTime),
      (made) => Effect.sync(() => shareMedia(turn, made))
    )

  const runTool = Effect.fnUntraced(function* (plan: ImagePlan, args: Schema.JsonObject, call: HostedCall) {
    const order = yield* Effect.mapError(
      Effect.fromResult(readImageCall(args, plan.abilities, plan.config)),
      (message) => new HostedToolFailed({ message })
    )
    return toolResult(yield* generate(plan, order, call), order.dropped)
  })

  const tools = (plan: ImagePlan): ReadonlyArray<HostedTool> => [
    {
      definition: imageTool(plan.abilities, plan.config),
      // Besides the request, documents are read and stored.
      timeout: Duration.sum(Duration.fromInputUnsafe(imageTimeout), Duration.minutes(2)),
      run: (args, call) => runTool(plan, args, call)
    }
  ]

  /** One after the other, so that pictures have the order in which the model made them. */
  const receive = Effect.fnUntraced(function* (
    { media }: ModelOutput,
    turn: LiveTurn
  ): Effect.fn.Return<boolean, never, Principal> {
    let hasKept = false
    for (const { bytes, mediaType } of media) {
      const metadata = { model: turn.model }
      const isKept = yield* keep(turn, mediaFamily(mediaType), Stream.make(bytes), metadata).pipe(
        Effect.as(true),
        Effect.catch((error) =>
          Effect.as(Effect.logWarning(`A medium of ${turn.provider} was not kept: ${error.message}`), false)
        )
      )
      hasKept ||= isKept
    }
    return hasKept
  })

  const part: TurnPart<ImagePlan> = {
    name: imagePartName,
    plan: ImagePlan,
    concerns: ({ options }) => options !== undefined,
    refuse: planImages,
    decide,
    tools,
    receive
  }
  return part
})

/** Joins the turns of a kernel: a layer over `Kernel.layer` and the stores of documents. */
export const imagePart: Layer.Layer<
  never,
  never,
  BlobStore | Catalog | DocumentStore | Providers | QuotaStore | TurnParts
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const parts = yield* TurnParts
    yield* parts.register(yield* makePart)
  })
).pipe(Layer.provide(Layer.fresh(MediaStorage.layer)))

const isObject = Schema.is(Schema.JsonObject)
const isText = (value: unknown): value is string => typeof value === "string" && value !== ""

const inConfig = ({ message, path }: ImageProblem): ImageProblem => ({ path: ["config", ...path], message })

const refuse = (problems: ReadonlyArray<ImageProblem>): Effect.Effect<never, TurnRefused> =>
  Effect.fail(new TurnRefused({ part: imagePartName, reason: "invalid", problems }))

const failed = (message: string): Effect.Effect<never, HostedToolFailed> =>
  Effect.fail(new HostedToolFailed({ message }))

/** A request that may have been paid for is repeated only if the user wants that. */
const wordsOfFailure = (error: ModelError): string =>
  mayHaveBeenOrdered(error)
    ? `It is not known whether the picture was made, and it may be charged. Do not ask for it again unless the user wants that. ${error.message}`
    : `No picture was made. ${error.message}`

const failedWith = (message: string) => new HostedToolFailed({ message })

const storeFailure = () => new HostedToolFailed({ message: "No picture was made: the database is unavailable." })

const creditFailure = (error: InsufficientCredit | StoreUnavailable): HostedToolFailed =>
  error._tag === "InsufficientCredit"
    ? new HostedToolFailed({
        message: `No picture was made: ${error.reason ?? "the user has not enough credit."} Tell the user so.`
      })
    : storeFailure()

/** The result for the model: ids, so that it can change a picture later. */
const toolResult = (made: ReadonlyArray<GeneratedMedia>, dropped: ReadonlyArray<string>): Schema.JsonObject => ({
  images: made.map(({ documentId, mimeType }) => ({ document_id: documentId, mime_type: mimeType })),
  shown_to_user: true,
  ...(dropped.length === 0
    ? {}
    : { ignored: `Fixed by the user, so your values had no effect: ${dropped.join(", ")}.` })
})

const mediaFamily = (mediaType: string): MediaType => {
  const [family] = mediaType.split("/", 1)
  return family === "audio" || family === "video" ? family : "image"
}

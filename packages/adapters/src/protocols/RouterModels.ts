/**
 * Reads OpenRouter's lists into entries of the catalogue: the limits, prices and capabilities of all models, the options of video and image
 * models, and the prices of each upstream provider. Used by `providers/OpenRouter`.
 */
import { type ModelInfo } from "@colloquy/core"
import { describeModel, type ModelError, type ModelType, type Upstream } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { fetchModels, type ModelListSettings, type ReadEntry, readModels } from "./OpenAiModels.ts"
import { finite, isRecord, json, list, lookUp, record, string, text, wholeNumber, type WireRecord } from "./Wire.ts"

type Models = Effect.fn.Return<ReadonlyArray<ModelInfo>, ModelError>

/** Adds the lists of video and image models to the list of all models. If one of the two cannot be read, its models have no special options. */
export const listModels = Effect.fnUntraced(function* (settings: ModelListSettings): Models {
  const models = yield* listPages(settings, 0)
  const more = (path: string) => Effect.orElseSucceed(Effect.map(fetchModels(settings, path), entriesById), () => null)
  const [videos, images] = yield* Effect.all([more("/videos/models"), more("/images/models")], {
    concurrency: "unbounded"
  })
  return withImages(withVideos(models, videos ?? nothingListed, settings), images, settings)
})

/** Only the video models. The list of all models says what they accept as input; if it cannot be read, this stays unknown. */
export const listVideoModels = Effect.fnUntraced(function* (settings: ModelListSettings): Models {
  const videos = entriesById(yield* fetchModels(settings, "/videos/models"))
  const models = yield* fetchModels(settings, `/models?output_modalities=video&limit=${pageSize}`).pipe(
    Effect.map((body) => readModels(body, settings, readModel)),
    Effect.catch(() => Effect.succeed([]))
  )
  return withVideos(
    models.filter(({ modelType, name }) => modelType === "video" && videos.has(name)),
    videos,
    settings
  )
})

// ------ models

const pageSize = 1000
/** Limits a list that never ends. */
const maximumModels = 20_000

const listPages = Effect.fnUntraced(function* (settings: ModelListSettings, offset: number): Models {
  const body = yield* fetchModels(settings, `/models?output_modalities=all&limit=${pageSize}&offset=${offset}`)
  const models = [...readModels(body, settings, readModel), ...readModels(body, settings, readImageModel)]
  const isLast = list(record(body).data).length < pageSize || offset + pageSize >= maximumModels
  return isLast ? models : [...models, ...(yield* listPages(settings, offset + pageSize))]
})

export const readModel: ReadEntry = (entry) => {
  const { output_modalities: outputs } = record(entry.architecture)
  const modelType = modelTypes.find(([modality]) => list(outputs).includes(modality))?.[1]
  return modelType === undefined ? null : readAs(modelType, entry)
}

/** A model that writes texts and makes images has two entries in the catalogue: as a chat model and as an image model. */
const readImageModel: ReadEntry = (entry) => {
  const { output_modalities: outputs } = record(entry.architecture)
  return makesTextAndImages(outputs) ? readAs("image", entry) : null
}

const makesTextAndImages = (outputs: unknown): boolean =>
  includes(outputs, "text") === true && includes(outputs, "image") === true

const readAs = (modelType: ModelType, entry: WireRecord): ReturnType<ReadEntry> => {
  const { input_modalities: inputs, output_modalities: outputs } = record(entry.architecture)
  const parameters = entry.supported_parameters
  const thinks = includes(parameters, "reasoning")
  return {
    modelType,
    displayName: text(entry.name) ?? null,
    contextLimit: wholeNumber(entry.context_length),
    maxOutputTokens: wholeNumber(record(entry.top_provider).max_completion_tokens),
    supportsTools: includes(parameters, "tools"),
    supportsJsonOutput: includes(parameters, "response_format"),
    supportsOutputSchema: includes(parameters, "structured_outputs"),
    supportsThinking: thinks,
    supportsVision: includes(inputs, "image"),
    supportsPdfInput: includes(inputs, "file"),
    supportsAudioInput: includes(inputs, "audio"),
    supportsVideoInput: includes(inputs, "video"),
    supportsAudioOutput: includes(outputs, "audio"),
    thinkingControls: thinks === true ? readThinkingControls(record(entry.reasoning)) : null,
    inputCostPerMillionTokens: pricePerMillion(record(entry.pricing).prompt),
    outputCostPerMillionTokens: pricePerMillion(record(entry.pricing).completion),
    ...(modelType === "image" || modelType === "video" ? { details: readMediaDetails(entry, modelType) } : {}),
    ...(modelType === "llm" ? readChatDetails(outputs, parameters) : {})
  }
}

/** Null when the list is missing: then it is unknown whether the list would contain the word. */
const includes = (words: unknown, word: string): boolean | null => (Array.isArray(words) ? words.includes(word) : null)

/** The first matching output counts. */
const modelTypes: ReadonlyArray<readonly [modality: string, type: ModelType]> = [
  ["text", "llm"],
  ["embeddings", "embedding"],
  ["image", "image"],
  ["video", "video"],
  ["speech", "tts"],
  ["transcription", "stt"],
  ["decisions", "system_one"]
]

const readThinkingControls = (reasoning: WireRecord): ModelInfo["thinkingControls"] => {
  const efforts = list(reasoning.supported_efforts).flatMap((word) => string(word) ?? [])
  return {
    efforts: efforts.length > 0 ? efforts : ["low", "medium", "high", "max"],
    budget: reasoning.supports_max_tokens !== false,
    style: null
  }
}

/** The additional capabilities of a chat model: its own web search, and images in its answers. */
const readChatDetails = (outputs: unknown, parameters: unknown): Partial<ModelInfo> => {
  const details = {
    ...(includes(parameters, "web_search_options") === true ? { web_search: true } : {}),
    ...(includes(outputs, "image") === true ? { response_modalities: ["image", "text"] } : {})
  }
  return Object.keys(details).length === 0 ? {} : { details }
}

/** The parameters in the list of all models are those of chat requests. The parameters of image requests are in the list of image models. */
const readMediaDetails = (entry: WireRecord, modelType: "image" | "video"): Schema.JsonObject => ({
  architecture: readArchitecture(entry),
  supported_parameters: modelType === "image" ? null : json(entry.supported_parameters)
})

const readArchitecture = ({ architecture }: WireRecord): Schema.JsonObject | null => {
  const { input_modalities, output_modalities } = record(architecture)
  return isRecord(architecture)
    ? { input_modalities: json(input_modalities), output_modalities: json(output_modalities) }
    : null
}

/** The list has dollars for one token, as decimal text. The result is rounded, so that no error of binary fractions shows in the catalogue. */
const pricePerMillion = (price: unknown): number | null => {
  const dollars = typeof price === "string" && price.trim() !== "" ? Number(price) : price
  const known = finite(dollars)
  return known === undefined || known < 0 ? null : Math.round(known * 1e12) / 1e6
}

// ------ videos

/** The entries of the list of video models or of image models, by id. */
type Listed = ReadonlyMap<string, WireRecord>

const nothingListed: Listed = new Map()

const entriesById = (body: unknown): Listed =>
  new Map(
    list(record(body).data).flatMap((entry) => {
      const id = text(record(entry).id)
      return id === undefined ? [] : [[id, record(entry)] as const]
    })
  )

const withVideos = (
  models: ReadonlyArray<ModelInfo>,
  videos: Listed,
  settings: ModelListSettings
): ReadonlyArray<ModelInfo> => {
  const known = new Set(models.map((model) => model.name))
  const others = [...videos.keys()].filter((name) => !known.has(name))
  const more = others.map((name) => describeModel({ name, provider: settings.id, modelType: "video" }))
  return [...models, ...more].map((model) => {
    const video = model.modelType === "video" ? videos.get(model.name) : undefined
    return video === undefined
      ? model
      : { ...describeVideo(model, video), ...lookUp(settings.models ?? {}, model.name) }
  })
}

const describeVideo = (model: ModelInfo, video: WireRecord): ModelInfo => ({
  ...model,
  displayName: model.displayName ?? text(video.name) ?? null,
  supportsAudioOutput: video.generate_audio === true ? true : model.supportsAudioOutput,
  details: { ...model.details, ...readVideoDetails(video) }
})

const readVideoDetails = (video: WireRecord): { readonly [field: string]: Schema.Json } =>
  Object.fromEntries(videoFields.map((field) => [field, json(video[field])]))

const videoFields = [
  "supported_durations",
  "supported_resolutions",
  "supported_aspect_ratios",
  "supported_sizes",
  "supported_frame_images",
  "generate_audio",
  "seed",
  "upscale_factor",
  "creativity",
  "pricing_skus",
  "allowed_passthrough_parameters"
]

// ------ images

/**
 * Adds the options of image models. A model that writes texts and makes images stays an image model only if the list of image models contains
 * it, or if that list could not be read (`images` is null).
 */
const withImages = (
  models: ReadonlyArray<ModelInfo>,
  images: Listed | null,
  settings: ModelListSettings
): ReadonlyArray<ModelInfo> => {
  if (images === null) return models
  const writing = new Set(models.flatMap(({ modelType, name }) => (modelType === "llm" ? [name] : [])))
  const known = new Set(models.flatMap(({ modelType, name }) => (modelType === "image" ? [name] : [])))
  const more = [...images.keys()]
    .filter((name) => !known.has(name))
    .map((name) => describeModel({ name, provider: settings.id, modelType: "image" }))
  return [...models, ...more].flatMap((model) => {
    if (model.modelType !== "image") return [model]
    const image = images.get(model.name)
    if (image === undefined) return writing.has(model.name) ? [] : [model]
    return [{ ...describeImage(model, image), ...lookUp(settings.models ?? {}, model.name) }]
  })
}

const describeImage = (model: ModelInfo, image: WireRecord): ModelInfo => {
  const { input_modalities: inputs } = record(image.architecture)
  const { supported_parameters: parameters } = image
  return {
    ...model,
    displayName: model.displayName ?? text(image.name) ?? null,
    supportsVision: model.supportsVision ?? includes(inputs, "image"),
    details: {
      ...model.details,
      architecture: readArchitecture(image) ?? model.details?.["architecture"] ?? null,
      supported_parameters: isRecord(parameters) ? json(parameters) : null
    }
  }
}

// ------ upstreams

/** Needs one request for the names and one for each chat model, because no list contains the prices. A model whose request fails is left out. */
export const listUpstreams = Effect.fnUntraced(function* (
  settings: ModelListSettings
): Effect.fn.Return<ReadonlyArray<Upstream>, ModelError> {
  const names = list(record(yield* fetchModels(settings, "/providers")).data)
  const models = yield* listPages(settings, 0)
  const chatModels = models.filter((model) => model.modelType === "llm").slice(0, maximumPriced)
  const offers = yield* Effect.forEach(chatModels, ({ name }) => listOffers(settings, name), { concurrency: 8 })
  return gather(names, offers.flat())
})

/** The largest number of models whose prices are requested. */
const maximumPriced = 1000

interface Offer {
  readonly by: { readonly id: string; readonly name: string }
  readonly offer: Upstream["offers"][number]
}

const listOffers = (settings: ModelListSettings, model: string): Effect.Effect<ReadonlyArray<Offer>> =>
  fetchModels(settings, `/models/${modelPath(model)}/endpoints`).pipe(
    Effect.map((body) => list(record(record(body).data).endpoints).flatMap((each) => readOffer(record(each), model))),
    Effect.catch(() => Effect.succeed([]))
  )

const modelPath = (model: string): string =>
  model
    .split("/")
    .map((part) => encodeURIComponent(part).replaceAll("%3A", ":"))
    .join("/")

const readOffer = (endpoint: WireRecord, model: string): ReadonlyArray<Offer> => {
  const variant = text(endpoint.tag) ?? null
  const name = text(endpoint.provider_name) ?? variant?.split("/", 1)[0]
  if (name === undefined) return []
  const pricing = record(endpoint.pricing)
  const offer = {
    model,
    variant,
    contextLimit: wholeNumber(endpoint.context_length),
    maxOutputTokens: wholeNumber(endpoint.max_completion_tokens),
    inputCostPerMillionTokens: pricePerMillion(pricing.prompt),
    outputCostPerMillionTokens: pricePerMillion(pricing.completion)
  }
  return [{ by: { id: variant?.split("/", 1)[0] ?? name, name }, offer }]
}

/** The upstream providers with their offers: those of the list, and those that only an offer names. */
const gather = (names: ReadonlyArray<unknown>, offers: ReadonlyArray<Offer>): ReadonlyArray<Upstream> => {
  const found = new Map<
    string,
    { readonly id: string; readonly name: string; readonly offers: Array<Offer["offer"]> }
  >()
  for (const each of names) {
    const { name, slug } = record(each)
    const id = text(slug) ?? text(name)
    if (id !== undefined) found.set(id, { id, name: text(name) ?? id, offers: [] })
  }
  for (const { by, offer } of offers) {
    const upstream = found.get(by.id) ?? [...found.values()].find((each) => each.name === by.name)
    if (upstream === undefined) found.set(by.id, { ...by, offers: [offer] })
    else upstream.offers.push(offer)
  }
  return [...found.values()]
}

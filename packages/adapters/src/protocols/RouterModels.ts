/**
 * What the router tells of its models, as catalogue entries: limits, prices and capabilities of all of them, what a video or a picture may be
 * for those that make such, and what each upstream asks for which model. Used by `providers/OpenRouter`. Specification part 2 (video model).
 */
import { type ModelInfo } from "@colloquy/core"
import { describeModel, type ModelError, type ModelType, type Upstream } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { fetchModels, type ModelListSettings, type ReadEntry, readModels } from "./OpenAiModels.ts"
import { finite, isRecord, json, list, lookUp, record, string, text, wholeNumber, type WireRecord } from "./Wire.ts"

type Models = Effect.Effect<ReadonlyArray<ModelInfo>, ModelError>

/** The lists of videos and images add to the list of models; without them, such models are like all others. */
export const listModels = (settings: ModelListSettings): Models =>
  Effect.gen(function* () {
    const models = yield* listPages(settings, 0)
    const more = (path: string) =>
      Effect.orElseSucceed(Effect.map(fetchModels(settings, path), entriesById), () => null)
    const [videos, images] = yield* Effect.all([more("/videos/models"), more("/images/models")], {
      concurrency: "unbounded"
    })
    return withImages(withVideos(models, videos ?? nothingListed, settings), images, settings)
  })

/**
 * The models for videos alone, as they are now. What they take as input stands in the list of models only; without it that is not known.
 */
export const listVideoModels = (settings: ModelListSettings): Models =>
  Effect.gen(function* () {
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
/** A list that does not end is cut here. */
const maximumModels = 20_000

const listPages = (settings: ModelListSettings, offset: number): Models =>
  Effect.gen(function* () {
    const body = yield* fetchModels(settings, `/models?output_modalities=all&limit=${pageSize}&offset=${offset}`)
    const models = [...readModels(body, settings, readModel), ...readModels(body, settings, readPainter)]
    const isLast = list(record(body).data).length < pageSize || offset + pageSize >= maximumModels
    return isLast ? models : [...models, ...(yield* listPages(settings, offset + pageSize))]
  })

export const readModel: ReadEntry = (entry) => {
  const { output_modalities: outputs } = record(entry.architecture)
  const modelType = modelTypes.find(([modality]) => list(outputs).includes(modality))?.[1]
  return modelType === undefined ? null : readAs(modelType, entry)
}

/** A model that writes and paints stands in the catalogue twice: as one to talk to, and as one for pictures. */
const readPainter: ReadEntry = (entry) => {
  const { output_modalities: outputs } = record(entry.architecture)
  return paintsToo(outputs) ? readAs("image", entry) : null
}

const paintsToo = (outputs: unknown): boolean =>
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
    ...(modelType === "llm" ? readTalents(outputs, parameters) : {})
  }
}

/** Null when the list is not there: that is no word about what it would hold. */
const includes = (words: unknown, word: string): boolean | null => (Array.isArray(words) ? words.includes(word) : null)

/** The first output that fits decides. */
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

/** What a model that talks can do besides: search the web by itself, paint. */
const readTalents = (outputs: unknown, parameters: unknown): Partial<ModelInfo> => {
  const details = {
    ...(includes(parameters, "web_search_options") === true ? { web_search: true } : {}),
    ...(includes(outputs, "image") === true ? { response_modalities: ["image", "text"] } : {})
  }
  return Object.keys(details).length === 0 ? {} : { details }
}

/** The parameters of this list are words for a conversation; what may be asked of a picture stands in the list of images. */
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

/** The wire has dollars for one token, as a decimal text; rounded, because a binary fraction would show in a catalogue. */
const pricePerMillion = (price: unknown): number | null => {
  const dollars = typeof price === "string" && price.trim() !== "" ? Number(price) : price
  const known = finite(dollars)
  return known === undefined || known < 0 ? null : Math.round(known * 1e12) / 1e6
}

// ------ videos

/** Entries of a list for one kind of models. */
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
 * What a picture may be: descriptors by the names of the options. A model that writes and paints is one for pictures only where this list
 * has it, or could not be had (`null`).
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

/** One request for the names and one for each model that talks: prices stand nowhere else. A model whose offers fail is left out. */
export const listUpstreams = (settings: ModelListSettings): Effect.Effect<ReadonlyArray<Upstream>, ModelError> =>
  Effect.gen(function* () {
    const names = list(record(yield* fetchModels(settings, "/providers")).data)
    const models = yield* listPages(settings, 0)
    const talking = models.filter((model) => model.modelType === "llm").slice(0, maximumPriced)
    const offers = yield* Effect.forEach(talking, ({ name }) => listOffers(settings, name), { concurrency: 8 })
    return gather(names, offers.flat())
  })

/** Prices of more models than this are not asked for. */
const maximumPriced = 1000

interface Offer {
  readonly by: { readonly id: string; readonly name: string }
  readonly offer: Upstream["offers"][number]
}

const listOffers = (settings: ModelListSettings, model: string): Effect.Effect<ReadonlyArray<Offer>> =>
  fetchModels(settings, `/models/${pathOf(model)}/endpoints`).pipe(
    Effect.map((body) => list(record(record(body).data).endpoints).flatMap((each) => readOffer(record(each), model))),
    Effect.catch(() => Effect.succeed([]))
  )

const pathOf = (model: string): string =>
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

/** Upstreams with what they offer: those of the list, and those of whom only an offer tells. */
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

/**
 * The abilities of a model for videos, from its catalogue entry. Null means not known, which is neither yes nor no: such an option is
 * passed on and the provider decides.
 */
import type * as Schema from "effect/Schema"
import type { ModelInfo } from "../models/ModelInfo.ts"

type List = ReadonlyArray<string | number> | null

export interface VideoAbilities {
  readonly durations: List
  readonly resolutions: List
  readonly aspectRatios: List
  readonly sizes: List
  readonly frameImages: List
  readonly generateAudio: boolean | null
  readonly seed: boolean | null
  /** Null: the model does not list it, so it is refused. */
  readonly upscaleFactor: { readonly min: number | null; readonly max: number | null } | null
  /** Null is a refusal here, too. */
  readonly creativity: List
  readonly imageInput: boolean | null
  readonly audioInput: boolean | null
  readonly videoInput: boolean | null
  /** Prices in US dollars, by the provider's names of the counted units. */
  readonly prices: ReadonlyMap<string, number>
}

export const videoAbilities = (info: ModelInfo): VideoAbilities => {
  const details: { readonly [field: string]: Schema.Json | undefined } = info.details ?? {}
  return {
    durations: listOrNull(details["supported_durations"]),
    resolutions: listOrNull(details["supported_resolutions"]),
    aspectRatios: listOrNull(details["supported_aspect_ratios"]),
    sizes: listOrNull(details["supported_sizes"]),
    frameImages: listOrNull(details["supported_frame_images"]),
    generateAudio: booleanOrNull(details["generate_audio"]),
    seed: booleanOrNull(details["seed"]),
    upscaleFactor: rangeOrNull(details["upscale_factor"]),
    creativity: listOrNull(details["creativity"]),
    imageInput: info.supportsVision,
    audioInput: info.supportsAudioInput,
    videoInput: info.supportsVideoInput,
    prices: pricesIn(details["pricing_skus"])
  }
}

type Detail = Schema.Json | undefined

const isWord = (value: Schema.Json): value is string | number => typeof value === "string" || typeof value === "number"

const listOrNull = (value: Detail): List => (isList(value) ? value.filter(isWord) : null)

const isList = (value: Detail): value is Schema.JsonArray => Array.isArray(value)

const booleanOrNull = (value: Detail): boolean | null => (typeof value === "boolean" ? value : null)

const isObject = (value: Detail): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const numberOrNull = (value: Detail): number | null => (typeof value === "number" ? value : null)

const rangeOrNull = (value: Detail): VideoAbilities["upscaleFactor"] =>
  isObject(value) ? { min: numberOrNull(value["min"]), max: numberOrNull(value["max"]) } : null

/** A price is a decimal text or a number. */
const pricesIn = (value: Detail): ReadonlyMap<string, number> =>
  new Map(
    Object.entries(isObject(value) ? value : {}).flatMap(([name, price]) => {
      const dollars = typeof price === "string" && price.trim() !== "" ? Number(price) : price
      return typeof dollars === "number" && Number.isFinite(dollars) && dollars >= 0 ? [[name, dollars] as const] : []
    })
  )

/** Whether a value is in the list, or the list is unknown. The list may contain numbers as texts. */
export const mayBe = (list: List, value: string | number): boolean =>
  list === null || list.some((each) => String(each) === String(value))

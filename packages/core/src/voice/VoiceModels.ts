/**
 * The provider and model that hear or speak in a turn, and their prices: the first registered provider, unless the message names another.
 */
import * as Effect from "effect/Effect"
import { Catalog } from "../catalog/Catalog.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import { describeModel, mergeModelInfo, type ModelInfo } from "../models/ModelInfo.ts"
import { type Provider, Providers } from "../models/Provider.ts"
import type { SpeechToText } from "../models/SpeechToText.ts"
import type { TextToSpeech } from "../models/TextToSpeech.ts"
import type { VoiceProblem } from "./VoiceOptions.ts"

export interface Chosen<Driver> {
  readonly provider: string
  readonly model: string
  readonly driver: Driver
}

interface Wish {
  readonly provider?: string | null
  readonly model?: string | null
}

type Choice<Driver> = Chosen<Driver> | VoiceProblem

export interface VoiceModels {
  readonly hearing: (wish: Wish) => Choice<SpeechToText>
  readonly speaking: (wish: Wish) => Choice<TextToSpeech>
  /** All information on the model, from the host and the catalogue too. */
  readonly describe: (
    chosen: Pick<Chosen<unknown>, "provider" | "model">,
    type: "stt" | "tts"
  ) => Effect.Effect<ModelInfo>
  readonly keys: typeof ProviderKeys.Service
}

export const isChosen = <Driver>(choice: Choice<Driver>): choice is Chosen<Driver> => "driver" in choice

export const makeVoiceModels: Effect.Effect<VoiceModels, never, Catalog | Providers> = Effect.gen(function* () {
  const { all } = yield* Providers
  const catalog = yield* Catalog
  const keys = yield* ProviderKeys

  const choose =
    <Driver extends { readonly defaultModel: string }>(
      direction: "stt" | "tts",
      findDriver: (of: Provider) => Driver | undefined
    ) =>
    ({ model, provider }: Wish): Choice<Driver> => {
      const able = all.filter((each) => findDriver(each) !== undefined)
      const found = provider ? able.find(({ id }) => id === provider) : able[0]
      const driver = found && findDriver(found)
      if (found !== undefined && driver !== undefined) {
        return { provider: found.id, model: model ?? driver.defaultModel, driver }
      }
      const names = able.map(({ id }) => id).join(", ") || "none"
      return provider
        ? { path: [direction, "provider"], message: `No provider of that name does this. Registered: ${names}.` }
        : { path: [direction], message: "This server has no provider for it." }
    }

  return {
    hearing: choose("stt", ({ speechToText }) => speechToText),
    speaking: choose("tts", ({ textToSpeech }) => textToSpeech),
    describe: Effect.fnUntraced(function* ({ model, provider: id }, modelType) {
      const provider = all.find((each) => each.id === id)
      const named = describeModel({ ...provider?.describe?.(model), name: model, provider: id, modelType })
      const listed = yield* catalog.known(id, model, modelType)
      return listed === undefined ? named : mergeModelInfo(named, listed)
    }),
    keys
  }
})

/** Prices as host and provider state them (`ModelInfo.details`); US dollars, null if one is not known. */
export const readPrice = (
  { details }: Pick<ModelInfo, "details">,
  unit: "usd_per_minute" | "usd_per_million_characters",
  amount: number | null
): number | null => {
  const price = details?.[unit]
  if (typeof price !== "number" || !Number.isFinite(price) || amount === null) return null
  return (price * amount) / (unit === "usd_per_minute" ? 60 : 1_000_000)
}

/**
 * What OpenAI and xAI share before a connection is opened: merging the client's settings into the defaults, and refusing invalid ones.
 */
import type { ModelInfo } from "@colloquy/core"
import { describeModel } from "@colloquy/core/adapters"
import {
  type AudioFormat,
  RealtimeCapabilities,
  type RealtimeModel,
  type SessionSetup,
  SetupRefused,
  type VoicePrices
} from "@colloquy/core/realtime"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { makeVoiceMapping, type VoiceDialect, voiceTool } from "./OpenAiVoice.ts"
import type { SocketSettings } from "./Dial.ts"
import { overSocket } from "./SocketLink.ts"
import {
  at,
  isObject,
  listAt,
  type MappedSession,
  type MappingSink,
  mergeOptions,
  takenName,
  type Fields
} from "./VendorMapping.ts"

export interface VoiceVendor {
  readonly dialect: VoiceDialect
  readonly defaults: Fields
  readonly speed: { readonly minimum: number; readonly maximum: number }
  /** The supported sample rates of PCM audio. */
  readonly rates: ReadonlyArray<number>
  readonly turnDetections: ReadonlyArray<string>
  readonly providerSettings: ReadonlyArray<string>
  /** Names that the vendor reserves for its own tools. A tool of the service with such a name is sent under another one. */
  readonly reserved?: ReadonlyArray<string>
}

/** The voice models that a host registers, by name, with what the host knows about them. */
export type VoiceModels<Prices extends VoicePrices = VoicePrices> = {
  readonly [name: string]: Partial<ModelInfo> & { readonly prices?: Prices }
}

/** The prices of a model: its own, or those of all models of the provider. */
export const modelPrices = <Prices extends VoicePrices>(
  models: VoiceModels<Prices>,
  name: string,
  sharedPrices: Prices | undefined
): Prices | undefined => (Object.hasOwn(models, name) ? models[name]?.prices : undefined) ?? sharedPrices

export interface VoiceSettings<Prices extends VoicePrices = VoicePrices> extends SocketSettings {
  /** The name of the provider, which a client's first frame contains. */
  readonly id: string
  /** The URL without its query, which the adapter adds. */
  readonly url: string
  /** May be omitted if every customer brings a key. */
  readonly apiKey?: Redacted.Redacted<string>
  readonly models: VoiceModels<Prices>
}

const formats = (rates: ReadonlyArray<number>): ReadonlyArray<AudioFormat> => [
  ...rates.map((sampleRate) => ({ encoding: "pcm_s16le", sampleRate, channels: 1 }) as const),
  { encoding: "pcmu", sampleRate: 8000, channels: 1 },
  { encoding: "pcma", sampleRate: 8000, channels: 1 }
]

export const catalogueEntries = (
  id: string,
  models: VoiceModels,
  capabilities: RealtimeCapabilities,
  pricesOfAll: VoicePrices | undefined
): ReadonlyArray<ModelInfo> =>
  Object.entries(models).map(([name, { prices: own, ...known }]) => {
    const prices = own ?? pricesOfAll
    return describeModel({
      supportsAudioInput: true,
      supportsAudioOutput: true,
      supportsTools: true,
      inputCostPerMillionTokens: prices?.textInput ?? null,
      outputCostPerMillionTokens: prices?.textOutput ?? null,
      ...known,
      name,
      provider: id,
      modelType: "realtime",
      details: encodeCapabilities({ ...capabilities, ...(prices === undefined ? {} : { prices }) })
    })
  })

const encodeCapabilities = Schema.encodeSync(RealtimeCapabilities)

export const voiceModel = <Prices extends VoicePrices>(
  settings: VoiceSettings<Prices>,
  makeVendor: (prices: Prices | undefined) => VoiceVendor,
  pricesOfAll: Prices | undefined
): RealtimeModel => {
  const vendor = makeVendor(pricesOfAll)
  const capabilities: RealtimeCapabilities = {
    inputFormats: formats(vendor.rates),
    outputFormats: formats(vendor.rates),
    providerSettings: vendor.providerSettings,
    canCancel: true,
    turnDetection: vendor.turnDetections
  }
  return {
    id: settings.id,
    models: catalogueEntries(settings.id, settings.models, capabilities, pricesOfAll),
    prepare: (setup) =>
      Result.map(
        mapSession(settings, makeVendor(modelPrices(settings.models, setup.model, pricesOfAll)), setup),
        (mapped) => overSocket(mapped, settings)
      )
  }
}

const refused = (reason: string, code: SetupRefused["code"] = "invalid_first_frame") =>
  Result.fail(new SetupRefused({ code, reason }))

/** Computes the vendor's session without connecting; a pure function. */
export const mapSession = (
  settings: VoiceSettings,
  vendor: VoiceVendor,
  setup: SessionSetup
): Result.Result<MappedSession, SetupRefused> => {
  const options: Fields = setup.options
  if (Object.hasOwn(options, "model")) return refused("provider_options cannot change the model.", "model_mismatch")
  const native = listAt(options, "tools")
  const declare = (tools: SessionSetup["tools"]): Result.Result<ReadonlyArray<Schema.Json>, string> => {
    const taken = takenName(
      tools.map(({ name }) => name),
      native.map((tool) => at(tool, "name"))
    )
    return taken === undefined
      ? Result.succeed([...tools.map((tool) => voiceTool({ ...tool, name: wireName(tool.name, vendor) })), ...native])
      : Result.fail(`provider_options.tools: two tools have the name "${taken}". Rename one of them.`)
  }
  const declared = declare(setup.tools)
  if (Result.isFailure(declared)) return refused(declared.failure)
  const session = mergeOptions(
    { ...vendor.defaults, ...(setup.instructions === null ? {} : { instructions: setup.instructions }) },
    {
      ...options,
      tools: declared.success
    }
  )
  const input = readFormat(session, "input", vendor.rates)
  const output = readFormat(session, "output", vendor.rates)
  if (input === null || output === null) {
    return refused(`The audio format must be audio/pcm at ${vendor.rates.join(", ")} Hz, audio/pcmu or audio/pcma.`)
  }
  const speed = at(session, "audio", "output", "speed")
  const { maximum, minimum } = vendor.speed
  if (speed !== undefined && !(typeof speed === "number" && speed >= minimum && speed <= maximum)) {
    return refused(`audio.output.speed must be from ${minimum} to ${maximum}.`)
  }
  const key = setup.apiKey ?? settings.apiKey ?? null
  const instructions = at(session, "instructions")
  return Result.succeed({
    inputFormat: input,
    outputFormat: output,
    canCancel: true,
    instructions: typeof instructions === "string" ? instructions : null,
    url: withQuery(settings.url, { model: setup.model }),
    headers: key === null ? {} : { authorization: `Bearer ${Redacted.value(key)}` },
    apiKey: key,
    makeMapping: (sink) =>
      makeVoiceMapping(
        withOwnNames(sink, vendor),
        {
          session,
          history: setup.history,
          inputFormat: input,
          outputFormat: output,
          transcribes: isObject(at(session, "audio", "input", "transcription")),
          changed: ({ instructions: text, tools }) =>
            Result.map(declare(tools), (all) => ({ instructions: text ?? "", tools: all }))
        },
        vendor.dialect
      )
  })
}

const ownPrefix = "service_"

const wireName = (name: string, { reserved = [] }: VoiceVendor): string =>
  reserved.includes(name) ? `${ownPrefix}${name}` : name

/** Restores the names of tools that were sent to the vendor under another name. */
const withOwnNames = (sink: MappingSink, { reserved = [] }: VoiceVendor): MappingSink => {
  if (reserved.length === 0) return sink
  const names = new Map(reserved.map((name) => [`${ownPrefix}${name}`, name]))
  return {
    audio: sink.audio,
    send: sink.send,
    redial: sink.redial,
    event: (event) => {
      if (event._tag !== "ToolCalled") return sink.event(event)
      const { call } = event
      sink.event({ _tag: "ToolCalled", call: { ...call, name: names.get(call.name) ?? call.name } })
    }
  }
}

const readFormat = (session: Fields, way: "input" | "output", rates: ReadonlyArray<number>): AudioFormat | null => {
  const format = at(session, "audio", way, "format")
  const rate = at(format, "rate")
  switch (at(format, "type")) {
    case "audio/pcm":
      return typeof rate === "number" && rates.includes(rate)
        ? { encoding: "pcm_s16le", sampleRate: rate, channels: 1 }
        : null
    case "audio/pcmu":
      return { encoding: "pcmu", sampleRate: 8000, channels: 1 }
    case "audio/pcma":
      return { encoding: "pcma", sampleRate: 8000, channels: 1 }
    default:
      return null
  }
}

export const withQuery = (url: string, query: { readonly [name: string]: string }): string => {
  const whole = new URL(url)
  for (const [name, value] of Object.entries(query)) whole.searchParams.set(name, value)
  return whole.href
}

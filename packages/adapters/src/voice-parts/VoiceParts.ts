/**
 * A realtime model made of three parts: speech to text, a conversation model, and text to speech. A host registers it beside the native ones:
 * `RealtimeModels.layer([VoiceParts.model({ models: { "house-voice": { hear, think, speak } } })])`.
 */
import { RunId } from "@colloquy/core"
import { type ChatPolicy, describeModel, type ModelError, newId } from "@colloquy/core/adapters"
import {
  type PreparedSession,
  RealtimeCapabilities,
  type RealtimeModel,
  type SessionSetup,
  SetupRefused,
  VendorUnavailable
} from "@colloquy/core/realtime"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { type ReadyParts, sound, type VoicePartsModel } from "./Parts.ts"
import { PartsSession } from "./PartsSession.ts"
import { byEnergy, type DetectorSettings, type TurnDetector } from "./TurnDetector.ts"

export type { VoicePartsModel } from "./Parts.ts"

/** The voices by name, and the detector of turns. */
export interface VoicePartsSettings {
  /** The name of the provider, which a client's first frame contains. Default: `parts`. */
  readonly id?: string
  readonly models: { readonly [name: string]: VoicePartsModel }
  /** Default: by energy and pauses. */
  readonly detector?: TurnDetector
  /** Retries and time limits of the conversation model. */
  readonly policy?: Partial<ChatPolicy>
  /**
   * An effect that runs before each session, for example to open connections; its scope closes after the session. If it fails, the session
   * is refused.
   */
  readonly open?: Effect.Effect<void, ModelError, Scope.Scope>
}

/** Unknown fields of `turn_detection` are ignored: clients of OpenAI's protocol send them. */
const Options = Schema.Struct({
  instructions: Schema.optionalKey(Schema.String),
  voice: Schema.optionalKey(Schema.String),
  /** Null: no detector; the client ends each turn with `commit`. */
  turn_detection: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        threshold: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))),
        silence_duration_ms: Schema.optionalKey(Schema.Finite.check(Schema.isBetween({ minimum: 20, maximum: 10_000 })))
      })
    )
  )
})

const names = Object.keys(Options.fields)
const decodeOptions = Schema.decodeUnknownResult(Options)

const readOptions = (options: Schema.JsonObject): Result.Result<typeof Options.Type, SetupRefused> => {
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  const refused = (reason: string) => new SetupRefused({ code: "invalid_first_frame", reason })
  return unknown === undefined
    ? Result.mapError(decodeOptions(options), ({ message }) => refused(`provider_options: ${message}`))
    : Result.fail(refused(`provider_options: there is no setting "${unknown}", only ${names.join(", ")}.`))
}

const capabilities = Schema.encodeSync(RealtimeCapabilities)({
  inputFormats: [sound],
  outputFormats: [sound],
  providerSettings: names,
  canCancel: true,
  turnDetection: ["server_vad"]
})

/** A realtime model made of speech to text, a conversation model and text to speech. */
export const model = (settings: VoicePartsSettings): RealtimeModel => {
  const { id = "parts", models } = settings
  const ready = new Map(Object.entries(models).map(([name, parts]) => [name, readyParts(name, parts)]))
  return {
    id,
    models: [...ready.keys()].map((name) =>
      describeModel({
        name,
        provider: id,
        modelType: "realtime",
        supportsAudioInput: true,
        supportsAudioOutput: true,
        supportsTools: true,
        details: capabilities
      })
    ),
    prepare: (setup) => {
      const parts = ready.get(setup.model)
      if (parts === undefined) {
        const reason = `This provider has the models ${[...ready.keys()].join(", ")}.`
        return Result.fail(new SetupRefused({ code: "model_mismatch", reason }))
      }
      return Result.map(readOptions(setup.options), (options) => prepared(settings, parts, setup, options))
    }
  }
}

const prepared = (
  { detector = byEnergy, open, policy }: VoicePartsSettings,
  parts: ReadyParts,
  setup: SessionSetup,
  { instructions: own, turn_detection: detection, voice }: typeof Options.Type
): PreparedSession => {
  const instructions = own ?? setup.instructions
  const detected: DetectorSettings = {
    threshold: detection?.threshold ?? null,
    silenceMillis: detection?.silence_duration_ms ?? 500
  }
  return {
    inputFormat: sound,
    outputFormat: sound,
    canCancel: true,
    instructions,
    connect: (listener) =>
      connect(open, {
        listener,
        parts: voice === undefined ? parts : { ...parts, speak: { ...parts.speak, voice } },
        setup: { ...setup, instructions },
        detector: detection === null ? null : detector,
        detected,
        policy: policy ?? {}
      })
  }
}

const connect = Effect.fnUntraced(function* (
  open: VoicePartsSettings["open"],
  around: Omit<ConstructorParameters<typeof PartsSession>[0], "conversationId" | "run" | "now">
) {
  if (open !== undefined) yield* Effect.mapError(open, unavailable)
  const clock = yield* Clock.Clock
  const session = new PartsSession({
    ...around,
    conversationId: yield* newId(RunId),
    run: Effect.runForkWith(yield* Effect.context<never>()),
    now: () => clock.currentTimeMillisUnsafe()
  })
  yield* Effect.addFinalizer(() => Effect.sync(() => session.close()))
  yield* Effect.forkScoped(Effect.sync(() => session.ready()))
  return session.link
})

const unavailable = ({ message }: ModelError) =>
  new VendorUnavailable({ code: "provider_unavailable", reason: message })

/** Throws if a part cannot do its work. That is a mistake of the host, so it is told when the model is made. */
const readyParts = (name: string, { hear, speak, think }: VoicePartsModel): ReadyParts => {
  const { speechToText } = hear.provider
  const { textToSpeech } = speak.provider
  const { chat, defaultModel, describe } = think.provider
  const chosen = think.model ?? defaultModel
  if (speechToText === undefined) throw new Error(`${name}: the provider "${hear.provider.id}" hears no speech.`)
  if (textToSpeech === undefined) throw new Error(`${name}: the provider "${speak.provider.id}" does not speak.`)
  if (chat === undefined || chosen === undefined) {
    throw new Error(`${name}: the provider "${think.provider.id}" has no conversation model. Name one as think.model.`)
  }
  const format =
    textToSpeech.formats.find((each) => each === "pcm") ?? textToSpeech.formats.find((each) => each === "wav")
  if (format !== "pcm" && format !== "wav") {
    throw new Error(`${name}: the provider "${speak.provider.id}" speaks neither pcm nor wav.`)
  }
  const info = describeModel({
    ...describe?.(chosen),
    ...think.info,
    name: chosen,
    provider: think.provider.id,
    modelType: "llm"
  })
  return {
    hear: { ...hear, id: hear.provider.id, model: hear.model ?? speechToText.defaultModel, driver: speechToText },
    think: { id: think.provider.id, model: chosen, info, driver: chat },
    speak: {
      ...speak,
      id: speak.provider.id,
      model: speak.model ?? textToSpeech.defaultModel,
      driver: textToSpeech,
      format
    }
  }
}

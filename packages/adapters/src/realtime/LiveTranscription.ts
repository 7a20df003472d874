/**
 * Speech to text while the user speaks, over a WebSocket: OpenAI's transcription sessions and every server with that protocol, and vLLM, whose
 * events differ. It adds `listen` to a provider that transcribes whole recordings. Each turn of speech has a connection of its own, which opens
 * while the user speaks, so that no time is lost at the end of the turn.
 */
import type { Provider } from "@colloquy/core"
import {
  joinBytes,
  type ListeningRequest,
  makeResampler,
  ModelError,
  noUsage,
  type SpeechToText,
  type TranscriptEvent
} from "@colloquy/core/adapters"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type ApiKey, hidden } from "../protocols/ApiKey.ts"
import { type Fault, retryHeaders } from "../protocols/Fault.ts"
import { toFault } from "../protocols/OpenAiErrors.ts"
import { readUsage, shortLanguage } from "../protocols/OpenAiSpeech.ts"
import { base64, isRecord, parseJson, record, string, type WireRecord } from "../protocols/Wire.ts"
import { dial, type DialFailure, frameBytes, type SocketSettings } from "./Dial.ts"
import type { VendorSocket } from "./VendorSocket.ts"

/** The address of a server, and its protocol. */
export interface LiveTranscriptionSettings extends SocketSettings {
  /** The address of the socket, for example `ws://127.0.0.1:8000/v1/realtime`. */
  readonly url: string
  /** `openai`: transcription sessions of OpenAI's realtime protocol. `vllm`: the events of a vLLM server. Default: `openai`. */
  readonly dialect?: "openai" | "vllm"
  /** Omitted for a server that needs no key, or if every customer brings one. */
  readonly apiKey?: ApiKey
  /** The model for speech that is heard live. Default: the provider's model for whole recordings. */
  readonly model?: string
  /** The price of a minute. Default: the price that the voice has for hearing. */
  readonly usdPerMinute?: number
}

/** OpenAI's own address and the model that tells words while the user speaks. */
export const openAi = { url: "wss://api.openai.com/v1/realtime?intent=transcription", model: "gpt-live-transcribe" }

/** The provider, which now transcribes a turn while it is spoken. If that fails, `transcribe` gets the sound of the whole turn, as before. */
export const add = (provider: Provider, settings: LiveTranscriptionSettings): Provider => {
  const { speechToText } = provider
  if (speechToText === undefined) throw new Error(`The provider "${provider.id}" hears no speech.`)
  if (!/^wss?:\/\//iu.test(settings.url))
    throw new TypeError(`The url "${settings.url}" must begin with ws:// or wss://.`)
  return { ...provider, speechToText: { ...speechToText, listen: listenOver(settings) } }
}

/** The news that a message of the server has about the turn. Null: there are none. */
type Heard =
  | { readonly words: string }
  | { readonly whole: string; readonly usage: WireRecord }
  | { readonly fault: Fault }

interface Dialect {
  readonly sampleRate: number
  readonly opening: (request: ListeningRequest) => ReadonlyArray<object>
  readonly ending: object
  readonly read: (message: WireRecord) => Heard | null
}

const transcription = "conversation.item.input_audio_transcription"

const openAiDialect: Dialect = {
  sampleRate: 24_000,
  opening: ({ language, model, prompt }) => [
    {
      type: "session.update",
      session: {
        type: "transcription",
        audio: {
          input: {
            format: { type: "audio/pcm", rate: 24_000 },
            transcription: {
              model,
              ...(language === null ? {} : { language: shortLanguage(language) }),
              ...(prompt === null ? {} : { prompt })
            },
            turn_detection: null
          }
        }
      }
    }
  ],
  ending: { type: "input_audio_buffer.commit" },
  read: (message) => {
    const { delta, error, transcript, type, usage } = message
    if (type === `${transcription}.delta`) return { words: string(delta) ?? "" }
    if (type === `${transcription}.completed`) return { whole: string(transcript) ?? "", usage: record(usage) }
    if (type !== "error" && type !== `${transcription}.failed`) return null
    // A server that ends turns itself has nothing left to transcribe when we end the turn.
    if (record(error).code === "input_audio_buffer_commit_empty") return { whole: "", usage: {} }
    return { fault: toFault(null, message) }
  }
}

const vLlmDialect: Dialect = {
  sampleRate: 16_000,
  opening: ({ model }) => [{ type: "session.update", model }, { type: "input_audio_buffer.commit" }],
  ending: { type: "input_audio_buffer.commit", final: true },
  read: (message) => {
    const { delta, text, type, usage } = message
    if (type === "transcription.delta") return { words: string(delta) ?? "" }
    if (type === "transcription.done") return { whole: string(text) ?? "", usage: record(usage) }
    return type === "error" ? { fault: toFault(null, message) } : null
  }
}

const dialects = { openai: openAiDialect, vllm: vLlmDialect }

/** The longest transcript of a turn, in UTF-16 units. A turn lasts minutes at most. */
const mostWords = 1_000_000

const cutOff: Fault = { reason: "cut_off" }
const malformed: Fault = { reason: "malformed", code: "malformed_answer" }
const oversized: Fault = { reason: "malformed", code: "oversized_answer", shouldRetry: false }

const converse = Effect.fnUntraced(function* (
  settings: LiveTranscriptionSettings,
  request: ListeningRequest,
  sound: Stream.Stream<Uint8Array>,
  told: Parameters<typeof makeTurn>[2]
) {
  const dialect = dialects[settings.dialect ?? "openai"]
  const socket = yield* openSocket(settings, request)
  const turn = makeTurn(settings, request, told)
  const send = (message: object) => socket.send(JSON.stringify(message))
  socket.on("message", (data) => turn.receive(dialect.read, frameBytes(data)))
  socket.on("close", () => turn.fail(cutOff))
  for (const message of dialect.opening(request)) send(message)
  socket.resume()
  const resample = makeResampler(request.sampleRate, dialect.sampleRate)
  yield* Stream.runForEachArray(sound, (pieces) => {
    const audio = joinBytes(pieces)
    turn.addSeconds(audio.length / 2 / request.sampleRate)
    return sendAudio(socket, resample(audio))
  })
  turn.end()
  send(dialect.ending)
})

const listenOver =
  (settings: LiveTranscriptionSettings): NonNullable<SpeechToText["listen"]> =>
  (asked, sound) => {
    const request = { ...asked, model: settings.model ?? asked.model }
    return Stream.callback<TranscriptEvent, ModelError>((told) => converse(settings, request, sound, told))
  }

const openSocket = Effect.fnUntraced(function* (
  settings: LiveTranscriptionSettings,
  request: ListeningRequest
): Effect.fn.Return<VendorSocket, ModelError, Scope.Scope> {
  const key = request.apiKey ?? settings.apiKey
  const headers = key === undefined ? {} : { authorization: `Bearer ${Redacted.value(hidden(key))}` }
  const now = yield* Clock.currentTimeMillis
  const dialled = Effect.mapError(dial(settings.url, headers, settings), (failure) =>
    modelError(request, dialFault(failure, now))
  )
  const close = (socket: VendorSocket) => Effect.sync(() => socket.close(1000))
  return yield* Effect.acquireRelease(dialled, close, { interruptible: true })
})

const modelError = ({ model, provider }: ListeningRequest, fault: Fault): ModelError =>
  new ModelError({ ...fault, model, provider })

const dialFault = ({ body, retryAfter, status }: DialFailure, now: number): Fault =>
  status === null
    ? { reason: "connection" }
    : {
        ...toFault(status, parseJson(body)),
        ...retryHeaders({ get: (name) => (name === "retry-after" ? retryAfter : null) }, now)
      }

/** Sends sound, and waits until the connection has taken it: until then the caller keeps the sound anyway. */
const sendAudio = (socket: VendorSocket, audio: Uint8Array): Effect.Effect<void> =>
  audio.length === 0
    ? Effect.void
    : Effect.callback((resume) =>
        socket.sendAudio(
          { before: '{"type":"input_audio_buffer.append","audio":"', base64: base64(audio), after: '"}' },
          () => resume(Effect.void)
        )
      )

/** The transcript of one turn so far, and the events about it. */
const makeTurn = (
  { usdPerMinute }: LiveTranscriptionSettings,
  request: ListeningRequest,
  told: Queue.Queue<TranscriptEvent, ModelError | Cause.Done>
) => {
  let seconds = 0
  let hasEnded = false
  let size = 0
  /** The final transcripts: more than one, if the server ends turns itself. */
  const wholes: Array<string> = []

  const fail = (fault: Fault): void => void Queue.failCauseUnsafe(told, Cause.fail(modelError(request, fault)))

  const finish = (wireUsage: WireRecord): void => {
    const usage = readUsage(underOpenAiNames(wireUsage))
    const costUsd = usdPerMinute === undefined ? null : (seconds / 60) * usdPerMinute
    const text = wholes.filter((each) => each !== "").join(" ")
    const known = usage === null && costUsd === null ? null : { ...(usage ?? noUsage), costUsd }
    Queue.offerUnsafe(told, { _tag: "Transcribed", transcript: { text, seconds, language: null, usage: known } })
    Queue.endUnsafe(told)
  }

  const take = (heard: Heard): void => {
    if ("fault" in heard) return fail(heard.fault)
    const words = "words" in heard ? heard.words : heard.whole
    size += words.length
    if (size > mostWords) return fail(oversized)
    if ("words" in heard) {
      if (words !== "") Queue.offerUnsafe(told, { _tag: "TranscriptDelta", text: words })
      return
    }
    wholes.push(words.trim())
    if (hasEnded) finish(heard.usage)
  }

  return {
    fail,
    addSeconds: (more: number) => {
      seconds += more
    },
    end: () => {
      hasEnded = true
    },
    receive: (read: Dialect["read"], message: Buffer) => {
      const parsed = parseJson(message.toString("utf8"))
      if (!isRecord(parsed)) return fail(malformed)
      const heard = read(parsed)
      if (heard !== null) take(heard)
    }
  }
}

/** vLLM counts tokens under other names. */
const underOpenAiNames = (usage: WireRecord): WireRecord => ({
  input_tokens: usage["input_tokens"] ?? usage["prompt_tokens"],
  output_tokens: usage["output_tokens"] ?? usage["completion_tokens"]
})

/**
 * Gemini Live. A host registers it with `GeminiLive.model({ id: "gemini", apiKey, models: { "gemini-live-x": {} } })`. The protocol has no ids
 * for responses and items, so the mapping creates them. The vendor closes a connection after about ten minutes; before that, between two
 * turns, the mapping connects again with a handle from the vendor, and the client does not notice.
 */
import type { ToolDefinition, Usage } from "@colloquy/core"
import { makeWholeSamples, noUsage } from "@colloquy/core/adapters"
import {
  bytesPerSecond,
  type Cut,
  type RealtimeModel,
  type Refusal,
  type SessionSetup,
  SetupRefused,
  type SpokenMessage,
  type VendorCommand
} from "@colloquy/core/realtime"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import {
  base64,
  count,
  finite,
  isRecord,
  jsonRecord,
  list,
  parseJson,
  record,
  string,
  type WireRecord
} from "../protocols/Wire.ts"
import { makePlayClock } from "./PlayClock.ts"
import type { SocketSettings } from "./Dial.ts"
import { overSocket } from "./SocketLink.ts"
import {
  at,
  isObject,
  listAt,
  type MappedSession,
  type MappingSink,
  mergeOptions,
  nativeEvent,
  takenName,
  textOfMessage,
  type VendorMapping,
  type Fields
} from "./VendorMapping.ts"
import { catalogueEntries, modelPrices, type VoiceModels, withQuery } from "./VoiceSession.ts"

/** Prices in US dollars per million tokens, by modality. */
export interface GeminiVoicePrices {
  readonly textInput: number
  readonly audioInput: number
  readonly textOutput: number
  readonly audioOutput: number
}

/** The key, the models and the prices of Gemini's live voices. */
export interface GeminiLiveSettings extends SocketSettings {
  readonly id?: string
  readonly url?: string
  readonly apiKey?: Redacted.Redacted<string>
  readonly models: VoiceModels<GeminiVoicePrices>
  /** The prices of all models that have none of their own in `models`. */
  readonly prices?: GeminiVoicePrices
  /** Models with extended thinking accept only tools that do not block. Default: `BLOCKING`, as the vendor's. */
  readonly toolBehavior?: "BLOCKING" | "NON_BLOCKING"
}

const defaultUrl =
  "wss://generativelanguage.googleapis.com/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"

const inputFormat = { encoding: "pcm_s16le", sampleRate: 16_000, channels: 1 } as const
const outputFormat = { encoding: "pcm_s16le", sampleRate: 24_000, channels: 1 } as const

/** Gemini's live voices as a realtime model. */
export const model = (settings: GeminiLiveSettings): RealtimeModel => {
  const id = settings.id ?? "gemini"
  return {
    id,
    models: catalogueEntries(
      id,
      settings.models,
      {
        inputFormats: [inputFormat],
        outputFormats: [outputFormat],
        providerSettings: [
          "generationConfig",
          "systemInstruction",
          "tools",
          "realtimeInputConfig",
          "inputAudioTranscription",
          "outputAudioTranscription",
          "sessionResumption",
          "contextWindowCompression",
          "proactivity",
          "explicitVadSignal"
        ],
        canCancel: false,
        turnDetection: ["automaticActivityDetection"]
      },
      settings.prices
    ),
    prepare: (setup) => Result.map(mapGemini(settings, setup), (mapped) => overSocket(mapped, settings))
  }
}

const refused = (reason: string, code: SetupRefused["code"] = "invalid_first_frame") =>
  Result.fail(new SetupRefused({ code, reason }))

/** Computes the session without connecting; a pure function. */
export const mapGemini = (
  settings: GeminiLiveSettings,
  setup: SessionSetup
): Result.Result<MappedSession, SetupRefused> => {
  const options: Fields = setup.options
  if (Object.hasOwn(options, "model")) return refused("provider_options cannot change the model.", "model_mismatch")
  const native = listAt(options, "tools")
  const nativeNames = native.flatMap((tool) =>
    isObject(tool) ? listAt(tool, "functionDeclarations").map((declared) => at(declared, "name")) : []
  )
  const taken = takenName(
    setup.tools.map(({ name }) => name),
    nativeNames
  )
  if (taken !== undefined)
    return refused(`provider_options.tools: two tools have the name "${taken}". Rename one of them.`)
  const declared = setup.tools.map((tool) => declare(tool, settings.toolBehavior))
  const tools = [...(declared.length === 0 ? [] : [{ functionDeclarations: declared }]), ...native]
  const instructions = setup.instructions
  const whole = mergeOptions(
    {
      model: `models/${setup.model}`,
      ...defaults,
      ...(instructions === null ? {} : { systemInstruction: { parts: [{ text: instructions }] } })
    },
    { ...options, tools }
  )
  const key = setup.apiKey ?? settings.apiKey ?? null
  return Result.succeed({
    inputFormat,
    outputFormat,
    canCancel: false,
    instructions: textOfInstruction(at(whole, "systemInstruction")),
    url: withQuery(settings.url ?? defaultUrl, key === null ? {} : { key: Redacted.value(key) }),
    headers: {},
    apiKey: key,
    makeMapping: (sink) =>
      makeGeminiMapping(sink, whole, setup.history, modelPrices(settings.models, setup.model, settings.prices))
  })
}

const defaults: Fields = {
  generationConfig: { responseModalities: ["AUDIO"] },
  realtimeInputConfig: {
    automaticActivityDetection: { disabled: false },
    activityHandling: "START_OF_ACTIVITY_INTERRUPTS"
  },
  inputAudioTranscription: {},
  outputAudioTranscription: {},
  sessionResumption: {},
  contextWindowCompression: { slidingWindow: {} },
  historyConfig: { initialHistoryInClientContent: true }
}

const declare = (
  { description, name, parameters }: ToolDefinition,
  behavior: GeminiLiveSettings["toolBehavior"]
): Fields => ({
  name,
  ...(description === null ? {} : { description }),
  parametersJsonSchema: parameters ?? { type: "object", properties: {} },
  ...(behavior === undefined ? {} : { behavior })
})

const textOfInstruction = (instruction: Schema.Json | undefined): string | null => {
  if (!isObject(instruction)) return null
  const texts = listAt(instruction, "parts").flatMap((part) => {
    const text = at(part, "text")
    return typeof text === "string" ? [text] : []
  })
  return texts.length === 0 ? null : texts.join("\n")
}

/** One response of the model, from its first content to `turnComplete`. */
interface Turn {
  readonly responseId: string
  readonly itemId: string
  text: string
  /** Whether the user's message before this response has been emitted already, or the response has another cause. */
  hasUser: boolean
  usage: Usage | null
}

interface UserSpeech {
  readonly itemId: string
  text: string
  isFinal: boolean
}

/** A question whose transcript comes only after its answer has ended. */
interface LateQuestion {
  readonly speech: UserSpeech
  /** The time of the answer's end, then of the last fragment. */
  lastAt: number
  /** Milliseconds of the client's audio since then. */
  audioMillis: number
}

/** For how long after an answer a transcript may still belong to the question before it. */
const lateLimit = 5000
/** When the client has sent this much audio since the last fragment, the next fragment belongs to a new question. */
const lateAudio = 500
const sentenceEnd = /[.!?…。！？]["'”’»)]?\s*$/u

const inputBytesPerMilli = bytesPerSecond(inputFormat) / 1000

const beforeAudio = '{"realtimeInput":{"audio":{"data":"'
const afterAudio = '","mimeType":"audio/pcm;rate=16000"}}}'

/** For how many milliseconds an unanswered blocking call holds back audio. */
const blockingLimit = 10_000

/** Translates between the events of a session and those of Gemini's socket. */
export const makeGeminiMapping = (
  sink: MappingSink,
  setup: Fields,
  history: ReadonlyArray<SpokenMessage>,
  prices?: GeminiVoicePrices
): VendorMapping => {
  const isManual = at(setup, "realtimeInputConfig", "automaticActivityDetection", "disabled") === true
  const blockingTools = blockingNames(setup)
  const blocking = new Map<string, number>()
  let isReady = false
  let isSpeaking = false
  let turn: Turn | null = null
  let lastTurn: Turn | null = null
  let user: UserSpeech | null = null
  /** Whether something else than the user's speech causes the next response: a text, a tool's output, or the response before it. */
  let isPrompted = false
  let hasSpoken = false
  let late: LateQuestion | null = null
  const transcribes = isObject(at(setup, "inputAudioTranscription"))
  const played = makePlayClock(outputFormat)
  const wholeSamples = makeWholeSamples()
  let handle: string | null = null
  /** The vendor will close the connection. */
  let mustRedial = false
  let lastNumber = 0
  /** Texts that the client has typed while a blocking call was open. */
  const texts: Array<string> = []

  const send = (message: Fields): void => sink.send(JSON.stringify(message))
  const nextNumber = (): number => {
    lastNumber++
    return lastNumber
  }

  const begin = (): void => {
    if (isReady) return
    isReady = true
    if (history.length > 0) {
      const turns = history.map(({ role, text }) => ({
        role: role === "assistant" ? "model" : "user",
        parts: [{ text }]
      }))
      send({ clientContent: { turns, turnComplete: true } })
    }
    sink.event({ _tag: "Ready" })
  }

  const openTurn = (): Turn => {
    if (turn !== null) return turn
    finishUser()
    giveUpLate()
    if (user === null && hasSpoken && transcribes && !isPrompted) hearUser(null)
    const number = nextNumber()
    turn = {
      responseId: `turn_${number}`,
      itemId: `item_${number}`,
      text: "",
      hasUser: user !== null || isPrompted,
      usage: null
    }
    isPrompted = false
    hasSpoken = false
    lastTurn = turn
    sink.event({ _tag: "ResponseStarted", responseId: turn.responseId })
    return turn
  }

  const finishUser = (): void => {
    if (user === null || user.isFinal || user.text === "") return
    user.isFinal = true
    sink.event({ _tag: "TranscriptFinal", role: "user", itemId: user.itemId, text: user.text })
  }

  /** The user's speech is over. A transcript that has not begun may still come. */
  const endUser = (now: number): void => {
    finishUser()
    if (user?.text === "") late = { speech: user, lastAt: now, audioMillis: 0 }
    user = null
  }

  const giveUpLate = (): void => {
    if (late?.speech.text === "") sink.event({ _tag: "TranscriptFailed", itemId: late.speech.itemId })
    late = null
  }

  const hearUser = (before: string | null): UserSpeech => {
    user = { itemId: `user_${nextNumber()}`, text: "", isFinal: false }
    sink.event({ _tag: "UserItem", itemId: user.itemId, before, transcribed: true })
    return user
  }

  /** The order of the user's fragments and the model's content is not defined: a question's fragments may arrive after the response has begun. */
  const addUserTranscript = (fragment: WireRecord, now: number): void => {
    const text = string(fragment["text"]) ?? ""
    const isFinished = fragment["finished"] === true
    if (user === null && late !== null) {
      if (continuesLate(late, now)) return addLate(late, text, isFinished, now)
      giveUpLate()
    }
    if (text === "" && user === null) return
    if (user === null && turn === null && lastTurn?.hasUser === false) {
      lastTurn.hasUser = true
      late = { speech: hearUser(lastTurn.responseId), lastAt: now, audioMillis: 0 }
      user = null
      return addLate(late, text, isFinished, now)
    }
    const isLate = turn !== null && !turn.hasUser
    const speech = user ?? hearUser(isLate && turn !== null ? turn.responseId : null)
    if (turn !== null) turn.hasUser = true
    addFragment(speech, text)
    if (isFinished || speech.isFinal) {
      speech.isFinal = false
      finishUser()
    }
  }

  const addFragment = (speech: UserSpeech, text: string): void => {
    if (text === "") return
    speech.text += text
    sink.event({ _tag: "TranscriptDelta", role: "user", itemId: speech.itemId, text })
  }

  const continuesLate = ({ audioMillis, lastAt, speech }: LateQuestion, now: number): boolean =>
    speech.text === ""
      ? now - lastAt <= lateLimit
      : !speech.isFinal && now - lastAt <= lateLimit && audioMillis < lateAudio && !sentenceEnd.test(speech.text)

  /** The vendor does not mark the end of such a transcript, so the text is emitted as final with each fragment. */
  const addLate = (question: LateQuestion, text: string, isFinished: boolean, now: number): void => {
    const { speech } = question
    addFragment(speech, text)
    question.lastAt = now
    question.audioMillis = 0
    speech.isFinal = isFinished
    if (speech.text !== "") {
      sink.event({ _tag: "TranscriptFinal", role: "user", itemId: speech.itemId, text: speech.text })
    }
  }

  const addText = (text: string): void => {
    if (text === "") return
    // A transcript after the end of a turn still belongs to that turn, until the model begins a new one.
    const isLate = turn === null && lastTurn !== null
    const ownTurn = turn ?? lastTurn ?? openTurn()
    if (played.isCut(ownTurn.itemId)) return
    ownTurn.text += text
    sink.event({ _tag: "TranscriptDelta", role: "assistant", itemId: ownTurn.itemId, text })
    if (isLate) sink.event({ _tag: "TranscriptFinal", role: "assistant", itemId: ownTurn.itemId, text: ownTurn.text })
  }

  const playAudio = (itemId: string, data: string, now: number): void => {
    const encoded = Buffer.from(data, "latin1")
    if (played.add(itemId, encoded, now)) sink.audio(itemId, encoded)
  }

  const addContent = (content: WireRecord, now: number): void => {
    for (const part of list(content["parts"])) {
      const inline = record(record(part)["inlineData"])
      const data = string(inline["data"])
      if (data !== undefined && (string(inline["mimeType"]) ?? "").startsWith("audio/")) {
        playAudio(openTurn().itemId, data, now)
      }
      const text = string(record(part)["text"])
      if (text !== undefined && record(part)["thought"] !== true) {
        openTurn()
        addText(text)
      }
    }
  }

  /** The vendor keeps all that it has sent, so only a client that reports its playback shortens the answer. */
  const interrupt = (now: number): void => {
    takeBack(played.hasReports() ? played.cutAll(now, turn?.itemId ?? null, "present") : [])
    endUser(now)
  }

  const takeBack = ([first, ...rest]: ReadonlyArray<Cut>): void => {
    sink.event({ _tag: "Interrupted", cut: first ?? null })
    for (const cut of rest) sink.event({ _tag: "CutShort", cut })
  }

  const leave = (now: number): void => {
    const cuts = played.cutAll(now, turn?.itemId ?? null, "gone")
    if (cuts.length > 0) takeBack(cuts)
  }

  const completeTurn = (isContinued: boolean, now: number): void => {
    endUser(now)
    const ended = turn
    turn = null
    if (isContinued) isPrompted = true
    if (ended !== null) {
      if (ended.text !== "" && !played.isCut(ended.itemId)) {
        sink.event({ _tag: "TranscriptFinal", role: "assistant", itemId: ended.itemId, text: ended.text })
      }
      sink.event({ _tag: "Used", usage: ended.usage ?? { ...noUsage, estimated: true } })
      sink.event({ _tag: "ResponseDone", responseId: ended.responseId })
    }
  }

  /** An answer, and a manual turn of the user, must end on the connection on which they have begun. */
  const isBetweenTurns = (): boolean => turn === null && !(isManual && isSpeaking)

  const redialIfNeeded = (): void => {
    if (!mustRedial || handle === null || !isBetweenTurns()) return
    mustRedial = false
    sink.redial()
  }

  const addCalls = (calls: ReadonlyArray<unknown>, now: number): void => {
    for (const each of calls) {
      const called = record(each)
      const id = string(called["id"])
      const name = string(called["name"])
      if (id === undefined || name === undefined) continue
      openTurn()
      if (blockingTools(name)) blocking.set(id, now + blockingLimit)
      sink.event({ _tag: "ToolCalled", call: { id, name, arguments: JSON.stringify(called["args"] ?? {}) } })
    }
  }

  const receive = (message: Buffer, now: number): void => {
    const parsed = parseJson(textOfMessage(message))
    if (!isRecord(parsed)) {
      return sink.event({ _tag: "Failed", reason: "The provider sent a message that is not JSON." })
    }
    if (!isPureAudio(parsed)) sink.event(nativeEvent(message))
    if (parsed["setupComplete"] !== undefined) begin()
    const usage = readUsage(parsed["usageMetadata"], prices)
    if (usage !== null && turn !== null) turn.usage = usage
    else if (usage !== null && lastTurn !== null && lastTurn.usage === null) {
      lastTurn.usage = usage
      sink.event({ _tag: "Used", usage })
    }
    const content = record(parsed["serverContent"])
    if (content["interrupted"] === true) interrupt(now)
    if (isRecord(content["modelTurn"])) addContent(content["modelTurn"], now)
    if (isRecord(content["inputTranscription"])) addUserTranscript(content["inputTranscription"], now)
    if (isRecord(content["outputTranscription"])) addTranscript(content["outputTranscription"])
    if (content["turnComplete"] === true) completeTurn(content["interactionStatus"] === "IN_PROGRESS", now)
    addCalls(list(record(parsed["toolCall"])["functionCalls"]), now)
    const cancelled = list(record(parsed["toolCallCancellation"])["ids"]).filter((id) => typeof id === "string")
    if (cancelled.length > 0) {
      for (const id of cancelled) blocking.delete(id)
      sink.event({ _tag: "ToolsCancelled", toolCallIds: cancelled })
    }
    sendTexts(now)
    const resumption = record(parsed["sessionResumptionUpdate"])
    if (resumption["resumable"] === true) handle = string(resumption["newHandle"]) ?? handle
    if (parsed["goAway"] !== undefined) mustRedial = true
    redialIfNeeded()
  }

  const addTranscript = (transcription: WireRecord): void => {
    const text = string(transcription["text"]) ?? ""
    if (turn === null && lastTurn === null && text !== "") openTurn()
    addText(text)
  }

  /** Whether a blocking call is open: the vendor closes the socket when it gets any other input then. */
  const isBlocked = (now: number): boolean => {
    for (const [id, until] of blocking) if (until <= now) blocking.delete(id)
    return blocking.size > 0
  }

  const sendTexts = (now: number): void => {
    if (texts.length === 0 || isBlocked(now)) return
    for (const text of texts.splice(0)) {
      isPrompted = true
      send({ realtimeInput: { text } })
      sink.event({ _tag: "Typed", itemId: `user_${nextNumber()}`, text })
    }
  }

  return {
    opening: () =>
      handle === null
        ? [JSON.stringify({ setup })]
        : [JSON.stringify({ setup: { ...setup, sessionResumption: { handle } } })],
    mayMove: () => {
      mustRedial = !isBetweenTurns()
      return !mustRedial
    },
    receive,
    stopWaiting: () => {},
    audio: (pcm, now) => {
      // Also of audio that is not sent, because a sample may have begun before it or end after it.
      const whole = wholeSamples(pcm)
      if (isBlocked(now)) return null
      sendTexts(now)
      if (whole.byteLength === 0) return null
      if (isManual && !isSpeaking) send({ realtimeInput: { activityStart: {} } })
      isSpeaking = true
      hasSpoken = true
      if (late !== null) late.audioMillis += whole.byteLength / inputBytesPerMilli
      return { before: beforeAudio, base64: base64(whole), after: afterAudio }
    },
    finish: () => {},
    command: (command: VendorCommand, now: number): Refusal | null => {
      switch (command._tag) {
        case "Text":
          texts.push(command.text)
          sendTexts(now)
          return null
        case "Commit":
          isSpeaking = false
          if (isManual) send({ realtimeInput: { activityEnd: {} } })
          else if (!isBlocked(now)) send({ realtimeInput: { audioStreamEnd: true } })
          return null
        case "Cancel":
          return { code: "unsupported_frame", reason: "This provider cannot cancel an answer." }
        case "Played":
          played.report(command.itemId, command.millis, now)
          return null
        case "Heard": {
          const cut = played.cutAt(command.itemId, command.millis)
          if (cut !== null) sink.event({ _tag: "CutShort", cut })
          return null
        }
        case "ClientGone":
          leave(now)
          return null
        case "ToolOutputs":
          if (turn === null) isPrompted = true
          send({
            toolResponse: {
              functionResponses: command.outputs.map(({ name, output, toolCallId }) => ({
                id: toolCallId,
                name,
                response: outputObject(output)
              }))
            }
          })
          for (const { toolCallId } of command.outputs) blocking.delete(toolCallId)
          sendTexts(now)
          return null
        case "Setup":
          return setupFixed
        case "Native":
          return native(command.event, now)
      }
    }
  }

  function native(event: Fields, now: number): Refusal | null {
    const keys = Object.keys(event)
    if (keys.includes("setup")) {
      return setupFixed
    }
    const [key] = keys
    if (keys.length !== 1 || key === undefined || !nativeKeys.has(key)) {
      return {
        code: "unsupported_frame",
        reason: `A provider event must have exactly one of these keys: ${[...nativeKeys].join(", ")}.`
      }
    }
    const input = event["realtimeInput"]
    const isEnd = at(input, "activityEnd") !== undefined
    if (isBlocked(now) && !isEnd) {
      return {
        code: "invalid_frame",
        reason: "The model is waiting for the output of a tool. Send tool.outputs first."
      }
    }
    if (isEnd || at(input, "activityStart") !== undefined) isSpeaking = !isEnd
    if (key === "clientContent" || at(input, "text") !== undefined) isPrompted = true
    if (at(input, "audio") !== undefined) hasSpoken = true
    send(event)
    return null
  }
}

const setupFixed: Refusal = {
  code: "invalid_frame",
  reason: "The setup cannot be changed during a session. Open a new session."
}

const nativeKeys: ReadonlySet<string> = new Set(["realtimeInput", "clientContent"])

/** Returns whether the model waits for the output of a function. It does, unless the function is declared as `NON_BLOCKING`. */
const blockingNames = (setup: Fields): ((name: string) => boolean) => {
  const free = listAt(setup, "tools")
    .flatMap((tool) => (isObject(tool) ? listAt(tool, "functionDeclarations") : []))
    .filter((declared) => at(declared, "behavior") === "NON_BLOCKING")
    .map((declared) => at(declared, "name"))
  const names = new Set(free)
  return (name) => !names.has(name)
}

/** Wraps an output that is not a JSON object, because the vendor closes the socket when it gets one. */
const outputObject = (output: string): Fields => {
  const parsed = parseJson(output)
  return isRecord(parsed) ? jsonRecord(parsed) : { output }
}

const isPureAudio = (message: WireRecord): boolean => {
  const content = record(message["serverContent"])
  const parts = list(record(content["modelTurn"])["parts"])
  return (
    Object.keys(message).length === 1 &&
    Object.keys(content).length === 1 &&
    parts.length > 0 &&
    parts.every((part) => {
      const inline = record(record(part)["inlineData"])
      return Object.keys(record(part)).length === 1 && (string(inline["mimeType"]) ?? "").startsWith("audio/")
    })
  )
}

/** Tokens of reasoning are output, tokens of tool use are input. The field names differ from those of `protocols/Gemini`. */
const readUsage = (metadata: unknown, prices: GeminiVoicePrices | undefined): Usage | null => {
  if (!isRecord(metadata) || finite(metadata["promptTokenCount"]) === undefined) return null
  const reasoningTokens = count(metadata["thoughtsTokenCount"])
  const inputTokens = count(metadata["promptTokenCount"]) + count(metadata["toolUsePromptTokenCount"])
  const outputTokens = count(metadata["responseTokenCount"]) + reasoningTokens
  const usage: Usage = {
    ...noUsage,
    inputTokens,
    outputTokens,
    reasoningTokens,
    cachedInputTokens: count(metadata["cachedContentTokenCount"])
  }
  if (prices === undefined) return usage
  const audioIn = audioTokens(metadata["promptTokensDetails"])
  const audioOut = audioTokens(metadata["responseTokensDetails"])
  const costUsd =
    ((inputTokens - audioIn) * prices.textInput +
      audioIn * prices.audioInput +
      (outputTokens - audioOut) * prices.textOutput +
      audioOut * prices.audioOutput) /
    1_000_000
  return { ...usage, costUsd }
}

const audioTokens = (details: unknown): number =>
  list(details).reduce<number>(
    (sum, each) => (record(each)["modality"] === "AUDIO" ? sum + count(record(each)["tokenCount"]) : sum),
    0
  )

/**
 * The mapping for OpenAI's realtime protocol and its dialects. `OpenAiRealtime` and `XaiRealtime` define the differences. At most one response
 * is requested at a time; a reason for another response is remembered until the first response has ended.
 */
import type { ToolDefinition, Usage } from "@colloquy/core"
import { makeWholeSamples, noUsage } from "@colloquy/core/adapters"
import {
  type AudioFormat,
  type Cut,
  type ModelSetup,
  type Refusal,
  type SpokenMessage,
  type VendorCommand
} from "@colloquy/core/realtime"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { base64, count, isRecord, parseJson, record, string, type WireRecord } from "../protocols/Wire.ts"
import { sliceAudioDelta } from "./AudioSlice.ts"
import { makePlayClock } from "./PlayClock.ts"
import {
  at,
  isObject,
  listAt,
  type MappingSink,
  nativeEvent,
  textOfMessage,
  type VendorMapping,
  type Fields
} from "./VendorMapping.ts"

export interface VoiceDialect {
  /** The path of the turn detection in the session. */
  readonly turnDetection: ReadonlyArray<string>
  /** Whether the mapping must request a response after a commit, because the vendor does not begin one by itself. */
  readonly asksAfterCommit: boolean
  /** Whether the vendor accepts a message that says how much of an item was played. */
  readonly truncates: boolean
  /** Whether the vendor sends the user's transcript repeatedly, each time as a whole. */
  readonly draftsOfUser: boolean
  /** The usage of a response. `billed` is what the session has been charged for so far; this function updates it. */
  readonly readUsage: (message: WireRecord, billed: Billed) => Usage | null
  readonly transcriptionUsage: (message: WireRecord) => Usage | null
}

/** For a vendor that reports the total of the session with every response: the total reported last. */
export interface Billed {
  seconds: number
}

export interface VoiceSetup {
  /** The `session` of the first `session.update`. */
  readonly session: Fields
  readonly history: ReadonlyArray<SpokenMessage>
  readonly inputFormat: AudioFormat
  readonly outputFormat: AudioFormat
  readonly transcribes: boolean
  /** The fields of other instructions and tools, or why they are refused. */
  readonly changed: (setup: ModelSetup) => Result.Result<Fields, string>
}

/** The vendor's events that a client may send. */
const clientEvents: ReadonlySet<string> = new Set([
  "session.update",
  "input_audio_buffer.append",
  "input_audio_buffer.commit",
  "input_audio_buffer.clear",
  "conversation.item.create",
  "conversation.item.retrieve",
  "conversation.item.delete",
  "conversation.item.truncate",
  "response.create",
  "response.cancel"
])

/** The names that older servers use for some events. */
const aliases: { readonly [name: string]: string } = {
  "response.audio.delta": "response.output_audio.delta",
  "response.audio_transcript.delta": "response.output_audio_transcript.delta",
  "response.audio_transcript.done": "response.output_audio_transcript.done",
  "response.text.delta": "response.output_text.delta",
  "response.text.done": "response.output_text.done",
  "conversation.item.created": "conversation.item.added"
}

const audioKinds = [Buffer.from('"response.output_audio.delta"'), Buffer.from('"response.audio.delta"')]

const beforeAudio = '{"type":"input_audio_buffer.append","audio":"'

interface ResponseState {
  readonly id: string
  /** The text so far of each item that is not final. */
  readonly drafts: Map<string, string>
  /** The item of the response's last audio. */
  spokenItem: string | null
  /** True after an interruption: audio and words of the response that still arrive are dropped. */
  interrupted: boolean
  /** Whether its cancellation was requested. Its audio is then not passed on any more. */
  cancelled: boolean
}

export const makeVoiceMapping = (sink: MappingSink, setup: VoiceSetup, dialect: VoiceDialect): VendorMapping => {
  const seeded = new Set(setup.history.map((_, index) => `seed_${index + 1}`))
  const played = makePlayClock(setup.outputFormat)
  let stage: "new" | "updating" | "seeding" | "ready" = "new"
  let session = setup.session
  let transcribes = setup.transcribes
  let response: ResponseState | null = null
  /** Whether a response has been requested and not created yet. */
  let isRequested = false
  /** The id of the event that has requested it. */
  let requestId = "ask"
  /** Whether another response must be requested when the current one has ended. */
  let isWanted = false
  const texts: Array<string> = []
  const billed: Billed = { seconds: 0 }
  let typed = 0
  let isCommitting = false
  const wholeSamples = makeWholeSamples()
  const drafts = new Map<string, string>()
  const calls = new Map<string, { readonly name: string; readonly responseId: string | null; isEmitted: boolean }>()
  /** The ids of the open calls of each response. */
  const unanswered = new Map<string, Set<string>>()

  const send = (message: Fields): void => sink.send(JSON.stringify(message))

  const isManual = (): boolean => {
    const detection = at(session, ...dialect.turnDetection)
    return detection === null || at(detection, "type") === null || at(detection, "create_response") === false
  }

  // -- responses, one at a time

  const requestResponse = (): void => {
    if (response !== null || isRequested) {
      isWanted = true
      return
    }
    isWanted = false
    isRequested = true
    requestId = "ask"
    send({ type: "response.create", event_id: requestId })
  }

  const requestIfWanted = (): void => {
    if (response !== null || isRequested) return
    if (texts.length > 0) sendTexts()
    else if (isWanted) requestResponse()
  }

  const sendTexts = (): void => {
    for (const text of texts.splice(0)) {
      typed++
      const id = `typed_${typed}`
      send({
        type: "conversation.item.create",
        item: { id, type: "message", role: "user", content: [{ type: "input_text", text }] }
      })
      sink.event({ _tag: "Typed", itemId: id, text })
    }
    requestResponse()
  }

  const endResponse = (ended: ResponseState): void => {
    for (const [itemId, text] of ended.drafts) {
      sink.event({ _tag: "TranscriptFinal", role: "assistant", itemId, text })
    }
    ended.drafts.clear()
    sink.event({ _tag: "ResponseDone", responseId: ended.id })
    if (response === ended) response = null
    if (unanswered.get(ended.id)?.size === 0) {
      unanswered.delete(ended.id)
      isWanted = true
    }
  }

  // -- setup

  const update = (): void => {
    if (stage !== "new") return
    stage = "updating"
    send({ type: "session.update", session })
  }

  const seed = (): void => {
    if (stage !== "updating") return
    stage = "seeding"
    setup.history.forEach(({ role, text }, index) => {
      const type = role === "assistant" ? "output_text" : "input_text"
      const item = { id: `seed_${index + 1}`, type: "message", role, content: [{ type, text }] }
      send({ type: "conversation.item.create", item })
    })
    finishSeeding()
  }

  const finishSeeding = (): void => {
    if (stage !== "seeding" || seeded.size > 0) return
    stage = "ready"
    sink.event({ _tag: "Ready" })
  }

  // -- what the user says

  const onCommitted = (itemId: string): void => {
    sink.event({ _tag: "UserItem", itemId, before: null, transcribed: transcribes })
    if (isCommitting && dialect.asksAfterCommit && isManual()) requestResponse()
    isCommitting = false
  }

  const updateDraft = (itemId: string, transcript: string): void => {
    const before = drafts.get(itemId)
    if (before === undefined) sink.event({ _tag: "UserItem", itemId, before: null, transcribed: transcribes })
    drafts.set(itemId, transcript)
    const known = before ?? ""
    if (transcript.startsWith(known) && transcript.length > known.length) {
      sink.event({ _tag: "TranscriptDelta", role: "user", itemId, text: transcript.slice(known.length) })
    }
  }

  // -- interruption

  /** Interrupts what is generated or played, and tells the vendor how much was heard. Returns false when there is nothing to interrupt. */
  const interruptPlayback = (now: number, client: "present" | "gone" = "present"): boolean => {
    const active = response?.interrupted === false ? response : null
    const spoken = played.cutAll(now, active?.spokenItem ?? null, client)
    if (active === null && spoken.length === 0) return false
    if (response !== null) response.interrupted = true
    const cuts = [...spoken, ...unspoken(spoken)]
    const [first, ...rest] = cuts
    sink.event({ _tag: "Interrupted", cut: first ?? null })
    for (const cut of rest) sink.event({ _tag: "CutShort", cut })
    for (const cut of cuts) truncate(cut)
    return true
  }

  /** Words whose audio has not begun to arrive were not heard. */
  const unspoken = (spoken: ReadonlyArray<Cut>): ReadonlyArray<Cut> =>
    response === null || isTextOnly(session)
      ? []
      : [...response.drafts.keys()]
          .filter((itemId) => !spoken.some((cut) => cut.itemId === itemId))
          .map((itemId) => ({ itemId, heardMillis: 0, generatedMillis: 1 }))

  /** The vendor refuses to truncate an item of which nothing was played. */
  const truncate = ({ heardMillis, itemId }: Cut): void => {
    response?.drafts.delete(itemId)
    if (!dialect.truncates) return
    if (heardMillis === 0) send({ type: "conversation.item.delete", item_id: itemId })
    else send({ type: "conversation.item.truncate", item_id: itemId, content_index: 0, audio_end_ms: heardMillis })
  }

  const cancel = (): void => {
    if (response === null) return
    response.cancelled = true
    send({ type: "response.cancel" })
  }

  const interrupt = (now: number): void => {
    if (interruptPlayback(now) && at(session, ...dialect.turnDetection, "interrupt_response") === false) cancel()
  }

  const isDropped = (itemId: string): boolean => response?.interrupted === true || played.isCut(itemId)

  const playAudio = (itemId: string, encoded: Uint8Array, now: number): void => {
    if (response?.interrupted === true || response?.cancelled === true) return
    if (!played.add(itemId, encoded, now)) return
    if (response !== null) response.spokenItem = itemId
    sink.audio(itemId, encoded)
  }

  const noteCut = (itemId: string, millis: number): Cut | null => {
    const cut = played.cutAt(itemId, millis)
    if (cut === null) return null
    response?.drafts.delete(itemId)
    sink.event({ _tag: "CutShort", cut })
    return cut
  }

  /** The client tells the vendor itself how much it has played of an item. */
  const noteTruncation = (event: Fields): void => {
    const itemId = event["item_id"]
    const millis = event["audio_end_ms"]
    if (typeof itemId === "string" && typeof millis === "number") noteCut(itemId, millis)
  }

  const hearNoMore = (itemId: string, millis: number): void => {
    const cut = noteCut(itemId, millis)
    if (cut !== null) truncate(cut)
  }

  // -- tools

  const addCall = (item: WireRecord, responseId: string | null): void => {
    const id = string(item["call_id"])
    const name = string(item["name"])
    if (item["type"] === "function_call" && id !== undefined && name !== undefined && !calls.has(id)) {
      calls.set(id, { name, responseId, isEmitted: false })
    }
  }

  /** The vendor may complete a call in two events; it is emitted once. */
  const emitCall = (id: string, wireName: string | undefined, args: string): void => {
    const known = calls.get(id)
    const name = wireName ?? known?.name
    if (name === undefined || known?.isEmitted === true) return
    const responseId = known?.responseId ?? response?.id ?? null
    calls.set(id, { name, responseId, isEmitted: true })
    if (responseId !== null) {
      const open = unanswered.get(responseId) ?? new Set()
      unanswered.set(responseId, open.add(id))
    }
    sink.event({ _tag: "ToolCalled", call: { id, name, arguments: args === "" ? "{}" : args } })
  }

  /** Requests a response when the call's response has ended and all its calls are answered. */
  const onAnswered = (id: string): void => {
    const responseId = calls.get(id)?.responseId ?? null
    const open = responseId === null ? undefined : unanswered.get(responseId)
    open?.delete(id)
    if (responseId === null) return requestResponse()
    if (open?.size !== 0 || response?.id === responseId) return
    unanswered.delete(responseId)
    requestResponse()
  }

  const handlers: { readonly [type: string]: (message: WireRecord, now: number) => void } = {
    "session.created": update,
    "conversation.created": update,
    "session.updated": () => seed(),
    "conversation.item.added": (message) => {
      seeded.delete(string(record(message["item"])["id"]) ?? "")
      finishSeeding()
    },
    "input_audio_buffer.speech_started": (_, now) => interrupt(now),
    "input_audio_buffer.committed": (message) => {
      const itemId = string(message["item_id"])
      if (itemId === undefined) return
      if (dialect.draftsOfUser && drafts.has(itemId)) isCommitting = false
      else {
        if (dialect.draftsOfUser) drafts.set(itemId, "")
        onCommitted(itemId)
      }
    },
    "conversation.item.input_audio_transcription.delta": (message) => {
      const itemId = string(message["item_id"])
      const text = string(message["delta"])
      if (itemId !== undefined && text !== undefined && transcribes) {
        sink.event({ _tag: "TranscriptDelta", role: "user", itemId, text })
      }
    },
    "conversation.item.input_audio_transcription.updated": (message) => {
      updateDraft(string(message["item_id"]) ?? "", string(message["transcript"]) ?? "")
    },
    "conversation.item.input_audio_transcription.completed": (message) => {
      const itemId = string(message["item_id"]) ?? ""
      const text = string(message["transcript"]) ?? ""
      if (message["status"] === "in_progress") return updateDraft(itemId, text)
      if (dialect.draftsOfUser && !drafts.has(itemId)) updateDraft(itemId, text)
      sink.event({ _tag: "TranscriptFinal", role: "user", itemId, text })
      const usage = dialect.transcriptionUsage(message)
      if (usage !== null) sink.event({ _tag: "Used", usage, isHearing: true })
    },
    "conversation.item.input_audio_transcription.failed": (message) => {
      sink.event({ _tag: "TranscriptFailed", itemId: string(message["item_id"]) ?? "" })
    },
    "response.created": (message) => {
      // Some interrupted responses never get a `response.done`. The next response shows that they have ended.
      if (response !== null) endResponse(response)
      isRequested = false
      response = {
        id: string(record(message["response"])["id"]) ?? "response",
        drafts: new Map(),
        spokenItem: null,
        interrupted: false,
        cancelled: false
      }
      sink.event({ _tag: "ResponseStarted", responseId: response.id })
    },
    "response.output_item.added": (message) => addCall(record(message["item"]), string(message["response_id"]) ?? null),
    "response.output_item.done": (message) => {
      const item = record(message["item"])
      addCall(item, string(message["response_id"]) ?? null)
      const id = string(item["call_id"])
      if (item["type"] === "function_call" && id !== undefined)
        emitCall(id, string(item["name"]), string(item["arguments"]) ?? "")
    },
    "response.function_call_arguments.done": (message) => {
      const id = string(message["call_id"])
      if (id !== undefined) emitCall(id, string(message["name"]), string(message["arguments"]) ?? "")
    },
    "response.output_audio.delta": (message, now) => {
      const delta = string(message["delta"])
      if (delta !== undefined) playAudio(string(message["item_id"]) ?? "", Buffer.from(delta, "latin1"), now)
    },
    "response.output_audio_transcript.delta": (message) => addText(message, "delta"),
    "response.output_text.delta": (message) => addText(message, "delta"),
    "response.output_audio_transcript.done": (message) => addText(message, "transcript"),
    "response.output_text.done": (message) => addText(message, "text"),
    "response.done": (message, now) => {
      const done = record(message["response"])
      const details = record(done["status_details"])
      const id = string(done["id"])
      const isCurrent = response !== null && (id === undefined || id === response.id)
      if (isCurrent && done["status"] === "cancelled" && details["reason"] === "turn_detected") interrupt(now)
      if (done["status"] === "failed") sink.event({ _tag: "Failed", reason: errorReason(record(details["error"])) })
      const usage = dialect.readUsage(message, billed)
      if (usage !== null) sink.event({ _tag: "Used", usage })
      if (response !== null && isCurrent) endResponse(response)
      requestIfWanted()
    },
    error: (message) => {
      const error = isRecord(message["error"]) ? message["error"] : message
      if (error["event_id"] === requestId) isRequested = false
      if (string(error["code"]) === "conversation_already_has_active_response") isWanted = true
      sink.event({ _tag: "Failed", reason: errorReason(error) })
    }
  }

  const addText = (message: WireRecord, field: "delta" | "transcript" | "text"): void => {
    const itemId = string(message["item_id"])
    const text = string(message[field])
    if (itemId === undefined || text === undefined || isDropped(itemId)) return
    if (field === "delta") {
      response?.drafts.set(itemId, (response.drafts.get(itemId) ?? "") + text)
      sink.event({ _tag: "TranscriptDelta", role: "assistant", itemId, text })
    } else {
      response?.drafts.delete(itemId)
      sink.event({ _tag: "TranscriptFinal", role: "assistant", itemId, text })
    }
  }

  const native = (event: Fields): Refusal | null => {
    const type = event["type"]
    if (typeof type !== "string" || !clientEvents.has(type)) {
      return { code: "unsupported_frame", reason: "Clients may not send this event of the provider." }
    }
    const problem =
      type === "session.update"
        ? updateProblem(event["session"])
        : (responseProblem(type, event["response"]) ?? itemProblem(event["item"]))
    if (problem !== null) return { code: "invalid_frame", reason: problem }
    if (type === "session.update") noteUpdate(event["session"])
    if (type === "conversation.item.truncate") noteTruncation(event)
    if (type !== "response.create") send(event)
    else {
      isRequested = true
      requestId = string(event["event_id"]) ?? "ask"
      send({ ...event, event_id: requestId })
    }
    return null
  }

  const changeSetup = (to: ModelSetup): Refusal | null => {
    const fields = setup.changed(to)
    if (Result.isFailure(fields)) return { code: "invalid_frame", reason: fields.failure }
    const type = session["type"]
    send({ type: "session.update", session: { ...(type === undefined ? {} : { type }), ...fields.success } })
    return null
  }

  const noteUpdate = (change: Schema.Json | undefined): void => {
    const detection = at(change, ...dialect.turnDetection)
    if (detection !== undefined) session = withValue(session, dialect.turnDetection, detection)
    const modalities = at(change, "output_modalities")
    if (modalities !== undefined) session = withValue(session, ["output_modalities"], modalities)
    const transcription = at(change, "audio", "input", "transcription")
    if (transcription !== undefined) transcribes = transcription !== null
  }

  const receive = (message: Buffer, now: number): void => {
    for (const kind of audioKinds) {
      const slice = sliceAudioDelta(message, kind)
      if (slice !== null) return playAudio(slice.itemId, slice.base64, now)
    }
    const parsed = parseJson(textOfMessage(message))
    if (!isRecord(parsed)) {
      return sink.event({ _tag: "Failed", reason: "The provider sent a message that is not JSON." })
    }
    const name = string(parsed["type"]) ?? ""
    const type = Object.hasOwn(aliases, name) ? (aliases[name] ?? name) : name
    if (type !== "response.output_audio.delta") sink.event(nativeEvent(message))
    if (Object.hasOwn(handlers, type)) handlers[type]?.(parsed, now)
  }

  return {
    opening: () => [],
    mayMove: () => true,
    receive,
    stopWaiting: () => {
      update()
      seeded.clear()
      finishSeeding()
    },
    audio: (pcm) => {
      const whole = setup.inputFormat.encoding === "pcm_s16le" ? wholeSamples(pcm) : pcm
      return whole.byteLength === 0 ? null : { before: beforeAudio, base64: base64(whole), after: '"}' }
    },
    finish: cancel,
    command: (command: VendorCommand, now: number) => {
      switch (command._tag) {
        case "Text":
          texts.push(command.text)
          requestIfWanted()
          return null
        case "Commit":
          isCommitting = true
          send({ type: "input_audio_buffer.commit" })
          return null
        case "Cancel":
          cancel()
          interruptPlayback(now)
          return null
        case "Played":
          played.report(command.itemId, command.millis, now)
          return null
        case "Heard":
          hearNoMore(command.itemId, command.millis)
          return null
        case "ClientGone":
          interruptPlayback(now, "gone")
          return null
        case "ToolOutputs":
          for (const { output, toolCallId } of command.outputs) {
            send({
              type: "conversation.item.create",
              item: { type: "function_call_output", call_id: toolCallId, output }
            })
          }
          for (const { toolCallId } of command.outputs) onAnswered(toolCallId)
          return null
        case "Setup":
          return changeSetup(command)
        case "Native":
          return native(command.event)
      }
    }
  }
}

const errorReason = (error: WireRecord): string => {
  const code = string(error["code"]) ?? string(error["type"])
  const message = string(error["message"]) ?? "The provider reports an error."
  return code === undefined ? message : `${code}: ${message}`
}

const isTextOnly = (session: Fields): boolean => {
  const modalities = listAt(session, "output_modalities")
  return modalities.length > 0 && !modalities.includes("audio")
}

const fixed = "cannot be changed during a session. Open a new session with the other setting."

/** The model, the audio formats and the tools cannot be changed. An event that tries to is refused as a whole. */
const updateProblem = (session: Schema.Json | undefined): string | null => {
  if (!isObject(session)) return "session.update needs a session."
  if (Object.hasOwn(session, "model")) return `The model ${fixed}`
  if (Object.hasOwn(session, "tools")) return `The tools ${fixed}`
  const isFormat = (path: ReadonlyArray<string>) => at(session, ...path) !== undefined
  const paths = [
    ["audio", "input", "format"],
    ["audio", "output", "format"],
    ["input_audio_format"],
    ["output_audio_format"]
  ]
  return paths.some(isFormat) ? `The audio format ${fixed}` : null
}

const responseProblem = (type: string, response: Schema.Json | undefined): string | null =>
  type === "response.create" &&
  (at(response, "tools") !== undefined || at(response, "audio", "output", "format") !== undefined)
    ? `Tools and audio formats ${fixed}`
    : null

/** Tool results must be sent as `tool.outputs`, because the service checks them against the open calls. */
const itemProblem = (item: Schema.Json | undefined): string | null =>
  at(item, "type") === "function_call_output" ? "Send the results of tools as tool.outputs." : null

const withValue = (object: Fields, path: ReadonlyArray<string>, value: Schema.Json): Fields => {
  const [key, ...rest] = path
  if (key === undefined) return object
  const inner = object[key]
  return { ...object, [key]: rest.length === 0 ? value : withValue(isObject(inner) ? inner : {}, rest, value) }
}

/** The declaration of a tool in this protocol, whose fields are not nested as in Chat Completions. */
export const voiceTool = ({ description, name, parameters }: ToolDefinition): Fields => ({
  type: "function",
  name,
  ...(description === null ? {} : { description }),
  parameters: parameters ?? { type: "object", properties: {} }
})

/** Reads the token counts; null when there are none. */
export const readTokens = (wireUsage: unknown): Usage | null => {
  const usage = record(wireUsage)
  if (usage["input_tokens"] === undefined && usage["output_tokens"] === undefined) return null
  const details = record(usage["input_token_details"])
  return {
    ...noUsage,
    inputTokens: count(usage["input_tokens"]),
    outputTokens: count(usage["output_tokens"]),
    cachedInputTokens: count(details["cached_tokens"])
  }
}

/**
 * One connection of OpenAI's realtime protocol. Its session begins with the first event that is no `session.update`, because the session's own
 * settings hold from its first frame. A response is given when the client asks for one: texts, outputs of functions and a commit wait for
 * `response.create`.
 */
import type { ClientFrame, ErrorCode, ServiceEvent, SessionSettings } from "@colloquy/core/realtime"
import { makeResampler } from "@colloquy/core/adapters"
import * as Result from "effect/Result"
import { Buffer } from "node:buffer"
import { randomUUID } from "node:crypto"
import type { Connection, SessionWire } from "../FrontDoor.ts"
import { at, type Fields } from "../Json.ts"
import { readObject } from "../Wire.ts"
import { type ClientEvent, idOfEvent, type NewItem, readClientEvent } from "./ClientEvents.ts"
import type { EventType } from "./EventTypes.ts"
import { type Item, makeItems } from "./Items.ts"
import { makeResponses, type Told } from "./Responses.ts"
import {
  changedSettings,
  firstFrame,
  fixedChange,
  isManual,
  isTextOnly,
  openSettings,
  vendorOptions,
  type Settings,
  shownSession,
  updated,
  withKept
} from "./Settings.ts"

type Typed = Fields & { readonly type: EventType }

/** An input that waits for a `response.create`: words of the user, or the output of a function. */
interface Waiting {
  readonly id: string
  readonly text?: string
  readonly output?: { readonly toolCallId: string; readonly name: string; readonly output: string }
}

/** How much a client may prepare before it asks for a response. */
const mostPending = 100
const mostPendingCharacters = 200_000

export const openAiWire = (connection: Connection): SessionWire => {
  const { hold, query, receive } = connection
  const mark = randomUUID().slice(0, 8)
  const sessionId = `sess_${mark}`
  const opened = openSettings(query, connection.models)
  let settings: Settings | null = opened
  let phase: "new" | "opening" | "live" = "new"
  let conversationId = ""
  let ids = 0
  const items = makeItems()
  /** The id of the client's event that is being handled. */
  let current: string | null = null
  /** The parameter of that event that the session may refuse. */
  let currentParam: string | null = null
  let complaints = 0
  let isCancelling = false
  /** Whether a response was asked for that has not begun. */
  let isAwaited = false
  /** Changes of instructions and tools that are not stored yet. */
  let unkept = 0
  let hasAudio = false
  /** Bytes of the client that the session has not counted yet. */
  let uncounted = 0
  /** The id under which a commit was acknowledged; it waits for `response.create`. */
  let committed: string | null = null
  let resample = makeResampler(24_000, 24_000)
  const early: Array<{ readonly event: ClientEvent; readonly bytes: number }> = []
  let waiting: Array<Waiting> = []
  const calls = new Map<string, string>()
  const approvals = new Map<string, string>()
  /** The ids of the client for turns that the vendor names otherwise. */
  const announced: Array<string> = []
  const userItems = new Map<string, string>()
  /** The turn that the user is still speaking while its words arrive. The client commits it; at the latest its whole text does. */
  let spoken: string | null = null

  const newId = (kind: string): string => `${kind}_${mark}_${++ids}`
  const send = (event: Typed): void => connection.send(JSON.stringify({ ...event, event_id: newId("event") }), false)

  const fail = (code: string, message: string, param: string | null = null, id = current): void =>
    send({ type: "error", error: { type: errorType(code), code, message, param, event_id: id } })

  const done = (item: Item): void => {
    items.put(item)
    send({ type: "conversation.item.done", previous_item_id: items.before(item.id), item })
  }

  const added = (item: Item, isDone: boolean): void => {
    send({ type: "conversation.item.added", previous_item_id: items.add(item), item })
    if (isDone) done(item)
  }

  const responses = makeResponses({
    send,
    sendAudio: (event) => connection.send(event, true),
    newId,
    added,
    done,
    isTextOnly: () => settings !== null && isTextOnly(settings),
    conversationId: () => conversationId
  })

  const frame = (given: ClientFrame): boolean => {
    const before = complaints
    const bytes = uncounted
    uncounted = 0
    receive({ _tag: "Frame", frame: given, bytes })
    return complaints === before
  }

  const refuseSession = (code: ErrorCode, message: string): void =>
    receive({ _tag: "Malformed", code, message, bytes: 0 })

  const begin = (bytes: number): void => {
    if (settings === null) return
    const request = firstFrame(settings)
    if (Result.isFailure(request)) return refuseSession("invalid_first_frame", request.failure)
    phase = "opening"
    hold(true)
    receive({ _tag: "Begin", request: request.success, bytes })
  }

  const onBegin = ({ inputFormat, settings: kept = {}, threadId }: Told<"SessionBegin">): void => {
    conversationId = threadId
    resample = makeResampler(24_000, inputFormat.sampleRate)
    send({ type: "conversation.created", conversation: { id: threadId, object: "realtime.conversation" } })
    const asked = settings
    if (asked !== null) settings = withKept(asked, kept)
    if (JSON.stringify(asked) !== JSON.stringify(settings)) showSession()
    // The session is told first that it is open.
    queueMicrotask(() => {
      phase = "live"
      for (const { bytes, event } of early.splice(0)) handle(event, bytes)
      hold(false)
    })
  }

  const update = (change: Fields): void => {
    if (settings === null) return
    const next = updated(settings, change)
    if (Result.isFailure(next)) return fail("invalid_value", next.failure.message, next.failure.param)
    if (phase === "live") return changeLive(settings, next.success, change)
    settings = next.success
    showSession()
  }

  /** Instructions and tools are changed by the session, and the vendor's own settings by the vendor, if it can while it speaks. */
  const changeLive = (before: Settings, after: Settings, change: Fields): void => {
    const fixed = fixedChange(before, after, responses.hasSpoken())
    if (fixed !== null) return fail("session_started", fixed.message, fixed.param)
    const changed = changedSettings(before, after)
    if (changed !== null && !changeSetup(before, changed)) return
    if (JSON.stringify(vendorOptions(after)) !== JSON.stringify(vendorOptions(before))) {
      const session = { type: "realtime", ...vendorOptions({ ...after, asked: change }) }
      if (!frame({ _tag: "ProviderEvent", event: { type: "session.update", session } })) return
    }
    settings = after
    if (changed === null) showSession()
  }

  /** The store may answer at once, so the change is noted before it is made. */
  const changeSetup = (before: Settings, changed: SessionSettings): boolean => {
    unkept++
    settings = withKept(before, changed)
    currentParam = "session"
    const isTaken = frame({ _tag: "Change", settings: changed })
    currentParam = null
    if (isTaken) return true
    unkept--
    settings = before
    return false
  }

  const showSession = (): void => {
    if (settings !== null) send({ type: "session.updated", session: shownSession(settings, sessionId) })
  }

  const handle = (event: ClientEvent, bytes: number): void => {
    current = event.event_id ?? null
    if (event.type !== "input_audio_buffer.append") uncounted += bytes
    take(event)
    current = null
  }

  const take = (event: ClientEvent): void => {
    switch (event.type) {
      case "session.update":
        return update(event.session)
      case "input_audio_buffer.append": {
        const audio = Buffer.from(event.audio, "base64")
        if (audio.byteLength === 0) return
        hasAudio = true
        return receive({ _tag: "Audio", audio: resample(audio) })
      }
      case "input_audio_buffer.commit": {
        if (!hasAudio) return fail("input_audio_buffer_commit_empty", "No audio was appended since the last commit.")
        const id = spoken ?? newId("item")
        if (committed === null && spoken === null) announced.push(id)
        committed = id
        return showUserItem(id)
      }
      case "input_audio_buffer.clear":
        if (!frame({ _tag: "ProviderEvent", event: { type: "input_audio_buffer.clear" } })) return
        hasAudio = false
        return send({ type: "input_audio_buffer.cleared" })
      case "conversation.item.create":
        return create(event.item)
      case "conversation.item.truncate": {
        const { audio_end_ms, item_id } = event
        if (!responses.hasItem(item_id)) return fail("item_not_found", unknownItem, "item_id")
        if (!frame({ _tag: "Heard", itemId: item_id, millis: audio_end_ms })) return
        return send({ type: "conversation.item.truncated", item_id, content_index: 0, audio_end_ms })
      }
      case "conversation.item.retrieve": {
        const item = items.get(event.item_id)
        if (item === undefined) return fail("item_not_found", "This item is not known, or is too old.", "item_id")
        return send({ type: "conversation.item.retrieved", item })
      }
      case "conversation.item.delete":
        return remove(event.item_id)
      case "response.create":
        return createResponse(event.response ?? {})
      case "response.cancel":
        if (!responses.isActive() && !isAwaited)
          return fail("response_cancel_not_active", "No response is being given.")
        isCancelling = true
        if (!frame({ _tag: "Cancel" })) isCancelling = false
    }
  }

  const showUserItem = (id: string): void => {
    hasAudio = false
    spoken = null
    send({ type: "input_audio_buffer.committed", item_id: id, previous_item_id: items.last() })
    const content = [{ type: "input_audio", transcript: null }]
    added({ id, object: "realtime.item", type: "message", role: "user", status: "completed", content }, true)
  }

  const create = (item: NewItem): void => {
    const id = item.id ?? newId("item")
    const record = { ...item, id, object: "realtime.item", status: "completed" }
    if (item.type === "mcp_approval_response") {
      const toolCallId = approvals.get(item.approval_request_id)
      if (toolCallId === undefined)
        return fail("item_not_found", "No call waits for this approval.", "item.approval_request_id")
      approvals.delete(item.approval_request_id)
      const decision = { toolCallId, isApproved: item.approve, reason: item.reason ?? null }
      if (frame({ _tag: "Approval", ...decision })) added(record, true)
      return
    }
    if (waiting.length >= mostPending || JSON.stringify([...waiting, item]).length > mostPendingCharacters)
      return fail("too_many_items", "Too much waits for a response.create. Send it first.")
    if (waiting.some((each) => each.id === id)) return fail("invalid_value", "This id waits already.", "item.id")
    if (item.type === "function_call_output") {
      const name = calls.get(item.call_id)
      if (name === undefined || waiting.some(({ output }) => output?.toolCallId === item.call_id))
        return fail("invalid_value", "No call of a function waits for an output with this call_id.", "item.call_id")
      waiting.push({ id, output: { toolCallId: item.call_id, name, output: item.output } })
      return added(record, true)
    }
    if (item.role !== "user")
      return fail("unsupported_item", "The thread has the conversation: only items of the user are added.", "item.role")
    if (item.content.some(({ type }) => type !== "input_text"))
      return fail("unsupported_item", "Content is input_text. Append audio to the buffer.", "item.content")
    waiting.push({ id, text: item.content.flatMap(({ text }) => text ?? []).join("\n") })
    added(record, true)
  }

  const remove = (id: string): void => {
    const before = waiting.length
    waiting = waiting.filter((each) => each.id !== id)
    if (waiting.length < before) return send({ type: "conversation.item.deleted", item_id: id })
    fail("unsupported_item", "The thread keeps every item that does not wait for a response.", "item_id")
  }

  const createResponse = (response: Fields): void => {
    const foreign = ["input", "tools", "conversation", "prompt"].find(
      (name) => response[name] !== undefined && !(name === "conversation" && response[name] === "auto")
    )
    if (foreign !== undefined)
      return fail("unsupported_response", `"${foreign}" cannot be set for one response.`, `response.${foreign}`)
    if (waiting.length === 0 && committed === null) {
      isAwaited = frame({ _tag: "ProviderEvent", event: { type: "response.create", response } }) || isAwaited
      return
    }
    if (at(response, "instructions") !== undefined)
      return fail("unsupported_response", "Instructions and new items cannot go together.", "response.instructions")
    isAwaited = true
    const given = waiting.flatMap(({ output }) => output ?? [])
    const typed = waiting.flatMap(({ text }) => text ?? [])
    waiting = []
    const isCommit = committed !== null
    committed = null
    // A session takes 32 of them in one frame.
    for (let from = 0; from < given.length; from += 32) {
      const outputs = given.slice(from, from + 32)
      if (frame({ _tag: "ToolOutputs", outputs })) for (const { toolCallId } of outputs) calls.delete(toolCallId)
    }
    if (isCommit) {
      frame({ _tag: "Commit" })
      // A vendor that ends turns itself may wait for this word; one that does not know it answers anyway.
      if (settings !== null && !isManual(settings) && typed.length === 0) askVendor(response)
    }
    if (typed.length > 0) frame({ _tag: "Text", text: typed.join("\n\n") })
  }

  /** While it is true, the client gets no errors. */
  let isQuiet = false
  const askVendor = (response: Fields): void => {
    isQuiet = true
    frame({ _tag: "ProviderEvent", event: { type: "response.create", response } })
    isQuiet = false
  }

  // -- what the session tells

  const userItem = (vendorId: string, isOpen = false): string => {
    const before = userItems.get(vendorId)
    if (before !== undefined) return before
    const id = announced.shift() ?? vendorId
    userItems.set(vendorId, id)
    if (id === vendorId && isOpen) spoken = id
    else if (id === vendorId) showUserItem(id)
    return id
  }

  const transcribed = (vendorId: string, outcome: "delta" | "completed" | "failed", fields: Fields): void => {
    const id = userItem(vendorId)
    if (id === spoken && outcome !== "delta") showUserItem(id)
    if (typeof fields["transcript"] === "string") items.setWords(id, fields["transcript"])
    send({ type: `conversation.item.input_audio_transcription.${outcome}`, item_id: id, content_index: 0, ...fields })
  }

  const tell = (event: ServiceEvent): void => {
    switch (event._tag) {
      case "SessionBegin":
        return onBegin(event)
      case "SessionChanged":
        if (unkept === 0) return
        unkept--
        return showSession()
      case "TranscriptStarted":
        return void userItem(event.itemId, event.isOpen)
      case "TranscriptDelta":
        if (event.role === "assistant") return responses.words(event)
        return transcribed(event.itemId, "delta", { delta: event.text })
      case "TranscriptFinal":
        if (event.role !== "assistant")
          return transcribed(event.itemId, "completed", { transcript: event.text, usage: noDuration })
        items.setWords(event.itemId, event.text)
        return responses.words(event)
      case "TranscriptFailed": {
        const error = { type: "transcription_error", code: "transcription_failed", message: "There is no transcript." }
        return transcribed(event.itemId, "failed", { error })
      }
      case "ToolCall":
        if (!event.hosted) calls.set(event.toolCallId, event.name)
        return responses.call(event)
      case "ToolCompleted":
        return responses.completed(event.toolCallId)
      case "ApprovalNeeded": {
        const id = newId("mcpr")
        approvals.set(id, event.toolCallId)
        return responses.approval(event, id)
      }
      case "ToolCancelled":
        for (const id of event.toolCallIds) calls.delete(id)
        waiting = waiting.filter(({ output }) => output === undefined || calls.has(output.toolCallId))
        return
      case "Interrupted":
        responses.breakOff(isCancelling ? "client_cancelled" : "turn_detected")
        if (isCancelling) return
        return send({ type: "input_audio_buffer.speech_started", audio_start_ms: 0, item_id: newId("item") })
      case "ResponseDone":
        if (isCancelling) responses.breakOff("client_cancelled")
        isCancelling = false
        return responses.end(event.usage)
      case "Error":
        complaints++
        if (isQuiet) return
        return fail(errorCodes[event.code] ?? event.code, event.message, currentParam)
      case "MediaGenerated":
      case "ProviderEvent":
      case "SessionEnded":
    }
  }

  return {
    open: () => {
      if (settings !== null) return send({ type: "session.created", session: shownSession(settings, sessionId) })
      const names = connection.models.map(({ name, provider }) => `${provider}/${name}`)
      refuseSession("model_mismatch", `model must be one of ${names.join(", ") || "(none)"}.`)
    },
    onBinary: () => fail("invalid_frame", "All frames of this protocol are JSON text."),
    onText: (text, bytes) => {
      const json = readObject(text)
      if (json === undefined) return fail("invalid_json", "A frame must contain one JSON object.")
      const event = readClientEvent(json)
      if (Result.isFailure(event)) return fail("invalid_event", event.failure.message, null, idOfEvent(json))
      const isTaken = phase === "live" || (phase === "new" && event.success.type === "session.update")
      if (isTaken) return handle(event.success, bytes)
      early.push({ event: event.success, bytes })
      if (phase === "new") begin(bytes)
    },
    event: (event) => {
      const isOfAnswer = (event._tag === "TranscriptDelta" && event.role === "assistant") || event._tag === "ToolCall"
      if (isOfAnswer || event._tag === "ResponseDone") isAwaited = false
      // The cancelled answer has ended without a word.
      if (isOfAnswer && !responses.isActive()) isCancelling = false
      tell(event)
    },
    audio: (itemId, base64, format) => responses.sound(itemId, base64, format),
    tooLarge: (message) =>
      JSON.stringify({ type: "error", error: { type: errorType(""), code: "frame_too_large", message } })
  }
}

const noDuration = { type: "duration", seconds: 0 }

const unknownItem = "No answer of this session has this id."

/** The words of the protocol, where it has its own. */
const errorCodes: { readonly [Code in ErrorCode]?: string } = {
  unauthorized: "invalid_api_key",
  ticket_invalid: "invalid_api_key",
  insufficient_credit: "insufficient_quota",
  model_mismatch: "model_not_found",
  session_limit: "session_expired",
  too_many_waiting: "rate_limit_exceeded"
}

const ours = /^(?:internal_error|provider_.*|history_incomplete|billing_pending)$/u
const errorType = (code: string): string => (ours.test(code) ? "server_error" : "invalid_request_error")

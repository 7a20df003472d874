/**
 * Pure: the states of a voice session and all decisions in them. An input (a frame, a vendor's event, a time) and the state give the next
 * state and a list of actions, which `SessionRelay` performs. The phases are opening → live → stopping → ended, never back.
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { addUsage } from "../primitives/Usage.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import { addResult, close, hear, isCutOff, keepWith, pendingTranscripts } from "./Conversation.ts"
import type { ClientFrame, ErrorCode } from "./Frames.ts"
import type { Cut, VendorCommand, VendorEvent } from "./RealtimeModel.ts"
import { millis } from "./SessionLimits.ts"
import {
  type Ending,
  type SessionState,
  type Input,
  type Action,
  type Decided,
  nothing,
  passAudio,
  stay,
  tell,
  complain
} from "./SessionSteps.ts"
import { answerUsage, countUsage, unknownUsage } from "./SessionUsage.ts"
import { askApproval, decideApproval } from "./SessionApprovals.ts"
import {
  failedTranscript,
  lateTranscripts,
  nextTranscriptDue,
  startedTranscript,
  takenBack
} from "./SessionTranscripts.ts"
import { changeSettings, keepSettings, tellKept } from "./SessionChanges.ts"
import { answerCalls, cancelCalls, completeCall, openCall, openCalls, readArguments } from "./ToolCallLedger.ts"

const gracefully: Ending = { error: null, close: "ended" }

export const decide = (state: SessionState, input: Input, now: number): Decided => {
  if (state.phase === "ended") return stay(state)
  const decided = step(state, input, now)
  if (decided.state.phase !== "stopping" || !isSettled(decided.state)) return decided
  const ended = end(decided.state, decided.state.ending ?? gracefully)
  return { state: ended.state, actions: [...decided.actions, ...ended.actions] }
}

const step = (state: SessionState, input: Input, now: number): Decided => {
  switch (input._tag) {
    case "Frame":
      return onInput(state, input.bytes, now, (counted) => onFrame(counted, input.frame, now))
    case "Audio":
      return onInput(state, input.bytes, now, onAudio)
    case "Malformed":
      return onInput(state, input.bytes, now, (counted) => ({
        state: counted,
        actions: [complain(input.code, input.message)]
      }))
    case "ClientGone":
      return stop(state, gracefully, now)
    case "Vendor":
      return onVendor(state, input.event, now)
    case "Refused":
      return { state, actions: [complain(input.code, input.message)] }
    case "Changed":
      return keepSettings(state, input.settings)
    case "ChangeKept":
      return tellKept(state)
    case "MediaMade":
      return { state, actions: [tell({ _tag: "MediaGenerated", toolCallId: input.toolCallId, media: input.media })] }
    case "Kept":
      return stay({ ...state, conversation: keepWith(state.conversation, input.toolCallId, input.part, input.value) })
    case "ApprovalNeeded":
      return askApproval(state, input.toolCallId)
    case "HostedDone":
      return onHostedDone(state, input)
    case "Tick":
      return onTick(state, now)
    case "Ended":
      return input.atOnce ? end(state, input.ending) : stop(state, input.ending, now)
  }
}

/** The next time at which a time limit is due. */
export const nextDue = (state: SessionState): number => {
  if (state.phase === "ended") return Number.POSITIVE_INFINITY
  const { limits } = state.terms
  const transcript = nextTranscriptDue(state.conversation, limits.transcript)
  if (state.phase === "stopping") return Math.min(state.stopDue, transcript)
  if (state.phase === "opening") return state.startedAt + millis(limits.opening)
  return Math.min(state.startedAt + millis(limits.session), state.lastInputAt + millis(limits.idle), transcript)
}

/** Every input of a client counts, both as activity and against the limit. */
const onInput = (
  state: SessionState,
  bytes: number,
  now: number,
  next: (counted: SessionState) => Decided
): Decided => {
  const inputBytes = state.inputBytes + bytes
  const { limits } = state.terms
  if (inputBytes > limits.inputBytes) {
    return stop(state, refusal("input_limit", `A session takes at most ${limits.inputBytes} bytes.`), now)
  }
  return next({ ...state, inputBytes, lastInputAt: now })
}

/** Whether this much audio goes to the vendor without a decision. The relay asks for each piece, and counts what it has passed. */
export const takesAudio = ({ inputBytes, phase, terms }: SessionState, bytes: number): boolean =>
  phase === "live" && inputBytes + bytes <= terms.limits.inputBytes

/** The state after audio was passed on. Many pieces are counted at once, before the next decision. */
export const countAudio = (state: SessionState, bytes: number, at: number): SessionState => ({
  ...state,
  inputBytes: state.inputBytes + bytes,
  lastInputAt: at
})

const refusal = (code: ErrorCode, message: string): Ending => ({ error: { code, message }, close: "refused" })

const onAudio = (state: SessionState): Decided =>
  state.phase === "live"
    ? { state, actions: passAudio }
    : state.phase === "opening"
      ? { state, actions: [notReady] }
      : stay(state)

const notReady = complain("not_ready", "Wait for session.begin: only stop is accepted before it.")

const onFrame = (state: SessionState, frame: ClientFrame, now: number): Decided => {
  if (frame._tag === "Stop") return stop(state, gracefully, now)
  if (state.phase === "opening") return { state, actions: [notReady] }
  if (state.phase === "stopping") return stay(state)
  switch (frame._tag) {
    case "Text":
    case "Commit":
    case "Played":
    case "Heard":
      return { state, actions: [{ _tag: "Send", command: frame }] }
    case "Cancel":
      return state.terms.canCancel
        ? { state, actions: [{ _tag: "DropAudio" }, { _tag: "Send", command: frame }] }
        : { state, actions: [complain("unsupported_frame", "This provider cannot cancel an answer.")] }
    case "Approval":
      return decideApproval(state, frame)
    case "Change":
      return changeSettings(state, frame.settings)
    case "ToolOutputs":
      return onOutputs(state, frame)
    case "ProviderEvent":
      return { state, actions: [{ _tag: "Send", command: { _tag: "Native", event: frame.event } }] }
  }
}

const onOutputs = (state: SessionState, { outputs }: Extract<ClientFrame, { _tag: "ToolOutputs" }>): Decided => {
  const answered = answerCalls(state.ledger, outputs)
  if (Result.isFailure(answered)) return { state, actions: [complain("invalid_tool_output", answered.failure)] }
  const results = outputs.map(({ name, output, toolCallId }) => ({ name, output: textOfOutput(output), toolCallId }))
  const conversation = results.reduce(
    (known, { name, output, toolCallId }) => addResult(known, { toolCallId, toolName: name, output, hosted: false }),
    state.conversation
  )
  return {
    state: { ...state, ledger: answered.success, conversation },
    actions: [{ _tag: "Send", command: { _tag: "ToolOutputs", outputs: results } }]
  }
}

const textOfOutput = (output: Schema.Json): string => (typeof output === "string" ? output : JSON.stringify(output))

const onVendor = (before: SessionState, event: VendorEvent, now: number): Decided => {
  const state: SessionState = { ...before, conversation: hear(before.conversation, event, now) }
  switch (event._tag) {
    case "Native":
      return { state, actions: [tell({ _tag: "ProviderEvent", json: event.json })] }
    case "Ready":
      return state.phase === "opening" ? goLive(state, now) : stay(state)
    case "UserItem":
      return event.transcribed ? { state, actions: [startedTranscript(event)] } : stay(state)
    case "TranscriptDelta":
    case "TranscriptFinal":
      // Later words of an interrupted answer were not heard, so they are ignored.
      return isCutOff(state.conversation, event.itemId) ? stay(state) : { state, actions: [tell(event)] }
    case "TranscriptFailed":
      return { state, actions: [failedTranscript(event.itemId)] }
    case "ToolCalled":
      return onCall(state, event.call)
    case "ToolsCancelled":
      return onCancelled(state, event.toolCallIds)
    case "ResponseStarted":
      return stay({ ...state, responding: true, answerUsage: null })
    case "ResponseDone":
      return {
        state: { ...state, responding: false, answerUsage: null },
        actions: [tell({ _tag: "ResponseDone", ...answerUsage(state) })]
      }
    case "Interrupted":
      return {
        state,
        actions: [
          { _tag: "DropAudio" },
          tell({ _tag: "Interrupted" }),
          ...(event.cut === null ? nothing : cutActions(state, event.cut))
        ]
      }
    case "CutShort":
      return { state, actions: cutActions(state, event.cut) }
    case "Used":
      return countUsage(state, event)
    case "Failed":
      // An error before the beginning means that the setup is not usable, so the session would differ from the requested one.
      return state.phase === "opening"
        ? end(state, { error: { code: "provider_error", message: event.reason }, close: "fault" })
        : { state, actions: [complain("provider_error", event.reason)] }
    case "Closed":
      return state.phase === "stopping"
        ? end(state, state.ending ?? gracefully)
        : end(state, { error: { code: "provider_closed", message: event.reason }, close: "fault" })
    case "NothingSaid":
      return { state, actions: takenBack(before.conversation, event.itemId) }
    case "SpeechEnded":
    case "Typed":
    case "Timed":
      return stay(state)
  }
}

const goLive = (state: SessionState, now: number): Decided => ({
  state: { ...state, phase: "live", startedAt: now, lastInputAt: now },
  actions: [tell({ _tag: "SessionBegin", ...state.terms.begin })]
})

/** After the session began to stop, calls are no longer answered. */
const onCall = (state: SessionState, call: ToolCall): Decided => {
  const hosted = state.terms.hosted.has(call.name)
  const ledger = openCall(state.ledger, call, hosted)
  if (ledger === state.ledger || state.phase !== "live") return stay(state)
  const told = tell({ _tag: "ToolCall", toolCallId: call.id, name: call.name, arguments: readArguments(call), hosted })
  return { state: { ...state, ledger }, actions: hosted ? [told, { _tag: "RunHosted", call }] : [told] }
}

const onCancelled = (state: SessionState, toolCallIds: ReadonlyArray<string>): Decided => {
  const { cancelled, ledger } = cancelCalls(state.ledger, toolCallIds)
  return cancelled.length === 0
    ? stay(state)
    : {
        state: { ...state, ledger },
        actions: [
          tell({ _tag: "ToolCancelled", toolCallIds: cancelled }),
          { _tag: "StopHosted", toolCallIds: cancelled }
        ]
      }
}

/** The client is told to remove the words that were not heard. */
const cutActions = ({ conversation }: SessionState, { itemId }: Cut): ReadonlyArray<Action> => {
  const item = conversation.entries.flatMap(({ items }) => items).find((each) => each.itemId === itemId)
  return item === undefined ? nothing : [tell({ _tag: "TranscriptFinal", role: "assistant", itemId, text: item.text })]
}

const onHostedDone = (state: SessionState, done: Extract<Input, { _tag: "HostedDone" }>): Decided => {
  const { output, toolCallId } = done
  const ledger = completeCall(state.ledger, toolCallId)
  const name = state.ledger.get(toolCallId)?.call.name
  if (ledger === null || name === undefined) return stay(state)
  const conversation = addResult(state.conversation, { toolCallId, toolName: name, output, hosted: true })
  const command: VendorCommand = { _tag: "ToolOutputs", outputs: [{ toolCallId, name, output }] }
  return {
    state: { ...state, ledger, conversation },
    actions: [
      ...(state.phase === "live" ? [{ _tag: "Send" as const, command }] : nothing),
      tell({ _tag: "ToolCompleted", toolCallId })
    ]
  }
}

const onTick = (state: SessionState, now: number): Decided => {
  const { limits } = state.terms
  const late = lateTranscripts(state.conversation, limits.transcript, now)
  if (late.length > 0) {
    const failed = late.map(({ key }) => ({ _tag: "TranscriptFailed" as const, itemId: key }))
    const conversation = failed.reduce((known, event) => hear(known, event, now), state.conversation)
    const rest = onTick({ ...state, conversation }, now)
    return { state: rest.state, actions: [...late.map(({ key }) => failedTranscript(key)), ...rest.actions] }
  }
  if (state.phase === "opening") {
    return state.startedAt + millis(limits.opening) <= now
      ? end(state, {
          error: { code: "provider_unavailable", message: "The provider did not open the session in time." },
          close: "fault"
        })
      : stay(state)
  }
  if (state.phase === "stopping") {
    return state.stopDue <= now ? end(state, state.ending ?? gracefully) : stay(state)
  }
  if (state.startedAt + millis(limits.session) <= now) {
    return stop(state, refusal("session_limit", "The session has reached its longest duration. Connect again."), now)
  }
  if (state.lastInputAt + millis(limits.idle) <= now) {
    return stop(state, refusal("idle_timeout", "Nothing came from the client for too long."), now)
  }
  return stay(state)
}

/** A stopping session waits only for transcripts and for the end of an answer. */
const isSettled = (state: SessionState): boolean =>
  !state.responding && pendingTranscripts(state.conversation).length === 0

/** A session that has not begun has nothing to wait for. */
const stop = (state: SessionState, ending: Ending, now: number): Decided => {
  if (state.phase === "opening") return end(state, ending)
  if (state.phase === "stopping") return stay(state)
  const open = cancelCalls(state.ledger, openCalls(state.ledger))
  const stopping: SessionState = {
    ...state,
    phase: "stopping",
    ledger: open.ledger,
    ending,
    stopDue: now + millis(state.terms.limits.stopping)
  }
  return {
    state: stopping,
    actions: [
      { _tag: "FinishVendor" },
      ...(open.cancelled.length === 0
        ? nothing
        : [
            tell({ _tag: "ToolCancelled", toolCallIds: open.cancelled }),
            { _tag: "StopHosted" as const, toolCallIds: open.cancelled }
          ])
    ]
  }
}

const end = (state: SessionState, ending: Ending): Decided => ({
  state: {
    ...state,
    phase: "ended",
    conversation: close(state.conversation),
    usage: state.responding ? addUsage(state.usage, unknownUsage) : state.usage,
    ending
  },
  actions: [
    { _tag: "StopHosted", toolCallIds: openCalls(state.ledger) },
    ...pendingTranscripts(state.conversation).map(({ key }) => failedTranscript(key)),
    ...(state.responding ? [{ _tag: "Charge" as const, usage: unknownUsage }] : nothing),
    { _tag: "End", ending }
  ]
})

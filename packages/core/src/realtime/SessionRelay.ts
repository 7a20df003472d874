/**
 * Drives a `SessionState` while the session is open: it takes inputs and performs actions, one after the other and synchronously, so that
 * audio and interruptions never wait. It also limits both peers: if one does not read, the relay stops reading from the other, for a
 * bounded time.
 */
import type * as Schema from "effect/Schema"
import type { Usage } from "../primitives/Usage.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import type { ClientInput, ClientSocket } from "./ClientSocket.ts"
import type { SessionSettings } from "./Frames.ts"
import { type Entry, keptWith, markStored, ready, unfinishedAnswer } from "./Conversation.ts"
import type { VendorEvent, VendorLink, VendorListener } from "./RealtimeModel.ts"
import { millis } from "./SessionLimits.ts"
import { countAudio, decide, nextDue, takesAudio } from "./SessionState.ts"
import { openingState } from "./SessionSteps.ts"
import type { Action, CallDecision, Ending, Input, SessionTerms } from "./SessionSteps.ts"

/** The work that the relay leaves to the session, which has a clock and a store. */
export interface RelayOwner {
  readonly now: () => number
  /** Requests a tick at this time. */
  readonly wakeAt: (time: number) => void
  readonly runHosted: (call: ToolCall) => void
  readonly decideHosted: (decision: CallDecision) => void
  readonly stopHosted: (toolCallIds: ReadonlyArray<string>) => void
  /** There is something to store. */
  readonly save: () => void
  readonly keepSettings: (settings: SessionSettings) => void
  readonly charge: (usage: Usage) => void
  readonly end: (ending: Ending) => void
}

export interface Relay {
  readonly fromClient: (input: ClientInput) => void
  readonly vendor: VendorListener
  readonly input: (input: Input) => void
  readonly attach: (link: VendorLink) => void
  /** Handles the passing of time; returns the next time of interest. */
  readonly tick: (now: number) => number
  /** The usage of the whole session so far. */
  readonly usage: () => Usage
  readonly unsaved: () => ReadonlyArray<Entry>
  readonly saved: (entries: ReadonlyArray<Entry>) => void
  /** The value that a part has kept with the answer that made this call. */
  readonly kept: (toolCallId: string, part: string) => Schema.Json | null
}

const never = Number.POSITIVE_INFINITY

/** How often an unfinished answer is stored, in milliseconds: a process that dies loses no more of it. */
const draftEvery = 1000

export const makeRelay = (client: ClientSocket, terms: SessionTerms, owner: RelayOwner): Relay => {
  const { limits } = terms
  const stuckMillis = millis(limits.stuck)
  const format = terms.begin.outputFormat
  const waiting: Array<Input> = []
  let state = openingState(terms, owner.now())
  let link: VendorLink | null = null
  let isDeciding = false
  let vendorStuckAt = never
  let clientStuckAt = never
  let draftAt = never
  let savesDraft = false
  /** Audio that was passed on since the last decision. */
  let passedBytes = 0
  let passedAt: number | null = null

  const countPassed = (): void => {
    if (passedAt === null) return
    state = countAudio(state, passedBytes, passedAt)
    passedBytes = 0
    passedAt = null
  }

  /** An input that an action causes (a link that answers at once) waits until all actions of the current decision are performed. */
  const input = (next: Input): void => {
    waiting.push(next)
    if (isDeciding) return
    isDeciding = true
    for (let each = waiting.shift(); each !== undefined; each = waiting.shift()) {
      countPassed()
      const decided = decide(state, each, owner.now())
      state = decided.state
      for (const action of decided.actions) perform(action)
    }
    isDeciding = false
    if (ready(state.conversation).length > 0) owner.save()
    if (draftAt === never && unfinishedAnswer(state.conversation) !== null) draftAt = owner.now() + draftEvery
    owner.wakeAt(Math.min(nextDue(state), draftAt))
  }

  const saveDraft = (): void => {
    draftAt = never
    savesDraft = true
    owner.save()
  }

  const unsaved = (): ReadonlyArray<Entry> => {
    const draft = savesDraft ? unfinishedAnswer(state.conversation) : null
    return draft === null ? ready(state.conversation) : [...ready(state.conversation), draft]
  }

  const perform = (action: Action): void => {
    switch (action._tag) {
      case "Tell":
        return client.send(action.event)
      case "Send": {
        const refusal = link?.send(action.command) ?? null
        if (refusal !== null) waiting.push({ _tag: "Refused", code: refusal.code, message: refusal.reason })
        return
      }
      case "Change": {
        const { settings, setup } = action
        const refusal = link?.send({ _tag: "Setup", ...setup }) ?? null
        return void waiting.push(
          refusal === null
            ? { _tag: "Changed", settings }
            : { _tag: "Refused", code: refusal.code, message: refusal.reason }
        )
      }
      case "KeepSettings":
        return owner.keepSettings(action.settings)
      case "PassAudio":
        return
      case "DropAudio":
        return client.dropAudio()
      case "RunHosted":
        return owner.runHosted(action.call)
      case "DecideHosted":
        return owner.decideHosted(action)
      case "StopHosted":
        return owner.stopHosted(action.toolCallIds)
      case "FinishVendor":
        return link?.finish()
      case "Charge":
        return owner.charge(action.usage)
      case "End":
        return owner.end(action.ending)
    }
  }

  const fromClient = (given: ClientInput): void => {
    switch (given._tag) {
      case "Audio":
        return onAudio(given.audio)
      case "Frame":
        return input(given)
      case "Begin":
        return input({
          _tag: "Malformed",
          code: "invalid_frame",
          message: "The session has begun already.",
          bytes: given.bytes
        })
      case "Malformed":
        return input(given)
      case "Gone":
        if (state.phase === "live" || state.phase === "stopping") link?.send({ _tag: "ClientGone" })
        return input({ _tag: "ClientGone" })
      case "Behind":
        return given.isBehind ? holdVendor() : releaseVendor()
    }
  }

  const onAudio = (audio: Uint8Array): void => {
    const bytes = audio.byteLength
    if (!takesAudio(state, passedBytes + bytes)) return input({ _tag: "Audio", bytes })
    passedBytes += bytes
    passedAt = owner.now()
    passAudio(audio)
  }

  /** While the vendor's socket is full, the client is not read until this piece has been sent. */
  const passAudio = (audio: Uint8Array): void => {
    if (link === null) return
    if (clientStuckAt !== never || link.buffered() < limits.vendorBuffer) return link.sendAudio(audio)
    client.pause()
    clientStuckAt = owner.now() + stuckMillis
    owner.wakeAt(clientStuckAt)
    link.sendAudio(audio, () => {
      clientStuckAt = never
      client.resume()
    })
  }

  const holdVendor = (): void => {
    if (vendorStuckAt !== never) return
    link?.pause()
    vendorStuckAt = owner.now() + stuckMillis
    owner.wakeAt(vendorStuckAt)
  }

  const releaseVendor = (): void => {
    if (vendorStuckAt === never) return
    vendorStuckAt = never
    link?.resume()
  }

  const tick = (now: number): number => {
    countPassed()
    if (draftAt <= now) saveDraft()
    if (vendorStuckAt <= now) input(stuckClient)
    else if (clientStuckAt <= now) input(stuckVendor)
    else if (nextDue(state) <= now) input({ _tag: "Tick" })
    return state.phase === "ended" ? never : Math.min(nextDue(state), vendorStuckAt, clientStuckAt, draftAt)
  }

  return {
    fromClient,
    input,
    tick,
    vendor: {
      event: (event: VendorEvent) => input({ _tag: "Vendor", event }),
      audio: (itemId, base64) => {
        if (state.phase === "live" || state.phase === "stopping") client.sendAudio(itemId, base64, format)
      }
    },
    attach: (attached) => {
      link = attached
      if (vendorStuckAt !== never) attached.pause()
    },
    usage: () => state.usage,
    kept: (toolCallId, part) => keptWith(state.conversation, toolCallId, part),
    unsaved,
    saved: (entries) => {
      savesDraft = false
      state = { ...state, conversation: markStored(state.conversation, entries) }
    }
  }
}

const stuckClient: Input = {
  _tag: "Ended",
  ending: { error: null, close: "fault" },
  atOnce: true
}

const stuckVendor: Input = {
  _tag: "Ended",
  ending: {
    error: { code: "provider_closed", message: "The provider does not read what it is sent." },
    close: "fault"
  },
  atOnce: true
}

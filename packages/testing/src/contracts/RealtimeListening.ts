/**
 * One session with a realtime model under test: everything that the model tells, in its order. Every wait ends with a sentence, and every
 * session is judged by the same rules when it is over.
 */
import type { ToolCall, Usage } from "@colloquy/core"
import type {
  AudioFormat,
  RealtimeModel,
  SessionSetup,
  VendorEvent,
  VendorLink,
  VendorUnavailable
} from "@colloquy/core/realtime"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"

/** What the vendor does in a session, one after the other, as soon as the session is set up. */
export type VoicePlay =
  /** A whole answer: these words in this audio (PCM16, mono, 24 kHz), and the tokens that the vendor says it used. */
  | {
      readonly says: string
      readonly audio: Uint8Array
      readonly usage: Pick<Usage, "inputTokens" | "outputTokens">
    }
  /** An answer that calls a tool. */
  | { readonly calls: ToolCall }
  /** Closes the connection with this reason. */
  | { readonly closes: string }

/** A realtime model with a vendor that plays a script. */
export interface RealtimeVendor {
  /** With the host's key `sk-of-the-host`. It serves the model `voice-1`. */
  readonly model: RealtimeModel
  /** Completes when the connection is closed. */
  readonly left: Effect.Effect<void>
  /** The audio of the client, once there are as many bytes. The client has committed it. */
  readonly heard: (bytes: number) => Effect.Effect<Uint8Array>
  /** The texts of all messages that the vendor has received so far, in their order, without the audio of the client. */
  readonly received: () => ReadonlyArray<string>
  /** What contains the key of the connection. Absent: the model has no wire, as a scripted one. */
  readonly key?: Effect.Effect<string>
}

/** Opens a vendor for one session with these plays; `refused`: it refuses the connection, in words that contain the key. */
export type OpenVendor = (
  plays: ReadonlyArray<VoicePlay> | "refused"
) => Effect.Effect<RealtimeVendor, never, Scope.Scope>

/** A piece of audio, in line with the events. */
interface AudioTold {
  readonly _tag: "Audio"
  readonly itemId: string
  readonly bytes: Uint8Array
}

export type Told = VendorEvent | AudioTold

export interface OpenSession {
  readonly vendor: RealtimeVendor
  readonly link: VendorLink
  readonly canCancel: boolean
  readonly outputFormat: AudioFormat
  readonly told: ReadonlyArray<Told>
  /** Waits until this was told as many times. */
  readonly waitFor: (tag: Told["_tag"], times?: number) => Effect.Effect<void>
  /** Waits until the vendor has received this text behind the message with this number. */
  readonly sees: (text: string, what: string, from?: number) => Effect.Effect<void>
  /** Sends a command, which the model may not refuse. */
  readonly send: (command: Parameters<VendorLink["send"]>[0]) => void
  /** Closes the scope, waits until all is quiet, and judges the session. */
  readonly finish: Effect.Effect<void>
}

/** Fails with a sentence that says what the model did and what it must do. */
export const fault = (did: string, must: string): never => assert.fail(`The model ${did}. It must ${must}.`)

export const shown = (value: unknown): string => {
  const json = JSON.stringify(value)
  return json.length > 120 ? `${json.slice(0, 120)}…` : json
}

/** Node runs timers in the order of their times: what a model puts off for less than this is told before the wait ends. */
const quiet = Effect.sleep("30 millis")

/** Waits until something is so; fails after `patience` milliseconds. */
export const until = (isSo: () => boolean, patience: number, did: () => string, must: string) =>
  Effect.suspend(() => {
    const end = performance.now() + patience
    const look: Effect.Effect<void> = Effect.suspend(() => {
      if (isSo()) return Effect.void
      if (performance.now() > end) fault(`${did()} within ${patience / 1000} seconds`, must)
      return Effect.andThen(Effect.sleep("1 millis"), look)
    })
    return look
  })

/** Lets something of the vendor take no longer than `patience` milliseconds. */
export const within = <A>(waits: Effect.Effect<A>, patience: number, did: string, must: string) =>
  Effect.timeoutOrElse(waits, {
    duration: patience,
    orElse: () => Effect.sync(() => fault(`${did} within ${patience / 1000} seconds`, must))
  })

const isKnown = ({ _tag }: Told): boolean => _tag !== "Native"

const inWords = (told: ReadonlyArray<Told>): string => {
  const tags = told.filter(isKnown).map(({ _tag }) => _tag)
  return tags.length === 0 ? "nothing" : tags.join(", ")
}

export const connectTo = ({ model }: RealtimeVendor, setup: SessionSetup, tell: (told: Told) => void) => {
  const prepared = Result.getOrElse(model.prepare(setup), ({ reason }) =>
    fault(`refused the setup ${shown(setup)} (${reason})`, "prepare a session for a model that it serves")
  )
  const connected = prepared.connect({
    event: tell,
    audio: (itemId, base64) => {
      const bytes = Buffer.from(Buffer.from(base64).toString("latin1"), "base64")
      tell({ _tag: "Audio", itemId, bytes })
    }
  })
  return { prepared, connected }
}

interface ListenOptions {
  readonly setup: SessionSetup
  readonly patience: number
  /** Called in the middle of what is told. The link is null while the model connects. */
  readonly on?: (told: Told, link: VendorLink | null, vendor: RealtimeVendor, close: () => void) => void
}

/** Opens a session of the model, in a scope of its own. */
export const listen = Effect.fnUntraced(function* (
  vendor: RealtimeVendor,
  { on = () => {}, patience, setup }: ListenOptions
): Effect.fn.Return<OpenSession, never, Scope.Scope> {
  const told: Array<Told> = []
  const scope = yield* Effect.acquireRelease(Scope.make(), (each) => Scope.close(each, Exit.void))
  let link: VendorLink | null = null
  let toldUntilClosed: number | null = null
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const closing = yield* Effect.cached(
    Effect.andThen(
      Scope.close(scope, Exit.void),
      Effect.sync(() => {
        toldUntilClosed = told.length
      })
    )
  )
  const { connected, prepared } = connectTo(vendor, setup, (each) => {
    told.push(each)
    on(each, link, vendor, () => void fork(closing))
  })
  const must = "connect to a vendor that accepts the connection"
  const refused = ({ message }: VendorUnavailable) => Effect.sync(() => fault(`could not connect (${message})`, must))
  const opened = yield* Effect.catch(connected, refused).pipe(Effect.provideService(Scope.Scope, scope), (connecting) =>
    within(connecting, patience, "did not connect", must)
  )
  link = opened

  const count = (tag: Told["_tag"]) => told.filter(({ _tag }) => _tag === tag).length
  const received = (from: number) => vendor.received().slice(from).join("\n")
  return {
    vendor,
    link: opened,
    canCancel: prepared.canCancel,
    outputFormat: prepared.outputFormat,
    told,
    waitFor: (tag, times = 1) =>
      until(
        () => count(tag) >= times,
        patience,
        () => `told ${tag} ${count(tag)} times of ${times}, in all ${inWords(told)},`,
        `tell all that the vendor says`
      ),
    sees: (text, what, from = 0) =>
      until(
        () => received(from).includes(text),
        patience,
        () => `did not send ${what} (${shown(text)}) to the vendor`,
        "send what the session gives it"
      ),
    send: (command) => {
      const refusal = opened.send(command)
      if (refusal !== null) fault(`refused the command ${shown(command)} (${refusal.reason})`, "send it to the vendor")
    },
    finish: Effect.gen(function* () {
      yield* quiet
      fork(closing)
      yield* until(
        () => toldUntilClosed !== null,
        patience,
        () => "did not end its work when its scope closed",
        "close with its scope"
      )
      yield* within(
        vendor.left,
        patience,
        "did not close the connection when its scope closed",
        "close the connection with its scope"
      )
      yield* quiet
      const late = told.slice(toldUntilClosed ?? told.length)
      if (late.length > 0) fault(`told ${inWords(late)} after its scope had closed`, "tell nothing more then")
      judge(told)
    })
  }
})

/** What an answer consists of; anything else may come at any time after `Ready`. */
const ofAnswer = (told: Told): boolean =>
  told._tag === "Audio" ||
  told._tag === "ToolCalled" ||
  ((told._tag === "TranscriptDelta" || told._tag === "TranscriptFinal") && told.role === "assistant")

const isOfVoice = (told: Told): boolean =>
  ofAnswer(told) || told._tag === "ResponseStarted" || told._tag === "ResponseDone" || told._tag === "Used"

/** The rules of every session, whatever is said in it. */
const judge = (told: ReadonlyArray<Told>): void => {
  const calls = new Set<string>()
  const answers = new Set<string>()
  const words = new Map<string, string>()
  let isReady = false
  let isClosed = false
  let open: string | null = null
  for (const each of told) {
    if (isClosed) fault(`told ${each._tag} after Closed`, "tell Closed once, as the last event")
    if (!isReady && isOfVoice(each))
      fault(`told ${each._tag} before Ready`, "tell Ready before anything that the model says")
    switch (each._tag) {
      case "Ready":
        if (isReady) fault("told Ready twice", "tell it once")
        isReady = true
        break
      case "Closed":
        isClosed = true
        if (each.reason === "") fault("told Closed without a reason", "say why in words")
        break
      case "ResponseStarted":
        if (open !== null)
          fault(`started an answer while the answer "${open}" was open`, "tell an answer from its start to its end")
        if (answers.has(each.responseId))
          fault(`gave the id "${each.responseId}" to two answers`, "give each answer an id of its own")
        answers.add(each.responseId)
        open = each.responseId
        break
      case "ResponseDone":
        if (each.responseId !== open)
          fault(
            `ended the answer "${each.responseId}" while ${open === null ? "none" : `"${open}"`} was open`,
            "end each answer once, with the id of its start"
          )
        open = null
        break
      case "ToolCalled":
        if (calls.has(each.call.id)) fault(`told the call "${each.call.id}" twice`, "tell each call once")
        calls.add(each.call.id)
        break
      case "TranscriptDelta":
        words.set(each.itemId, (words.get(each.itemId) ?? "") + each.text)
        break
      case "TranscriptFinal": {
        const pieces = words.get(each.itemId) ?? each.text
        if (pieces !== each.text)
          fault(
            `told the words ${shown(pieces)} in pieces and ${shown(each.text)} as a whole`,
            "tell the same words in both"
          )
        break
      }
      default:
    }
    if (ofAnswer(each) && open === null)
      fault(
        `told ${each._tag} while no answer was open`,
        "tell events and audio synchronously, from the start of an answer to its end"
      )
  }
}

/** A realtime model that keeps its contract, without a socket, and ways to put a single fault into it. */
import {
  type PreparedSession,
  type RealtimeModel,
  type SessionSetup,
  type VendorCommand,
  type VendorEvent,
  type VendorLink,
  type VendorListener,
  VendorUnavailable
} from "@colloquy/core/realtime"
import { describeModel, noUsage } from "@colloquy/core/adapters"
import type { OpenVendor, VoicePlay } from "@colloquy/testing/contracts"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"

const format = { encoding: "pcm_s16le", sampleRate: 24_000, channels: 1 } as const

/** The messages of a play, one for each turn of the event loop. */
const messagesOf = (play: VoicePlay, number: number, listener: VendorListener): ReadonlyArray<() => void> => {
  const [responseId, itemId] = [`r${number}`, `i${number}`]
  const tell = (event: VendorEvent) => () => listener.event(event)
  if ("closes" in play) return [tell({ _tag: "Closed", reason: play.closes })]
  const said =
    "calls" in play
      ? [tell({ _tag: "ToolCalled", call: play.calls })]
      : [
          ...[play.says.slice(0, 5), play.says.slice(5)].map((text) =>
            tell({ _tag: "TranscriptDelta", role: "assistant", itemId, text })
          ),
          () => listener.audio(itemId, Buffer.from(Buffer.from(play.audio).toString("base64"))),
          tell({ _tag: "TranscriptFinal", role: "assistant", itemId, text: play.says }),
          tell({ _tag: "Used", usage: { ...noUsage, ...play.usage } })
        ]
  return [tell({ _tag: "ResponseStarted", responseId }), ...said, tell({ _tag: "ResponseDone", responseId })]
}

/** A model that keeps its contract, without a socket. */
export const soundVoice: OpenVendor = (plays) =>
  Effect.sync(() => {
    const received: Array<string> = []
    const sound: Array<Uint8Array> = []
    const left = Deferred.makeUnsafe<void>()
    let key = "sk-of-the-host"
    const connect = Effect.fnUntraced(function* (setup: SessionSetup, listener: VendorListener) {
      if (plays === "refused") return yield* new VendorUnavailable({ code: "provider_error", reason: "Not this key." })
      if (setup.apiKey !== null) key = Redacted.value(setup.apiKey)
      received.push(JSON.stringify({ ...setup, apiKey: null }))
      const messages = [
        () => listener.event({ _tag: "Ready" }),
        ...plays.flatMap((play, number) => messagesOf(play, number, listener))
      ]
      let isHeld = false
      const read = () => {
        if (isHeld) return
        const next = messages.shift()
        if (next === undefined) return
        next()
        setImmediate(read)
      }
      setImmediate(read)
      yield* Effect.addFinalizer(() =>
        Effect.suspend(() => {
          isHeld = true
          return Deferred.succeed(left, undefined)
        })
      )
      const link: VendorLink = {
        send: (command) => {
          received.push(JSON.stringify(command))
          return null
        },
        sendAudio: (audio, sent) => {
          sound.push(audio)
          sent?.()
        },
        buffered: () => 0,
        pause: () => {
          isHeld = true
        },
        resume: () => {
          isHeld = false
          setImmediate(read)
        },
        finish: () => {}
      }
      return link
    })
    const model: RealtimeModel = {
      id: "sound",
      models: [describeModel({ name: "voice-1", provider: "sound", modelType: "realtime" })],
      prepare: (setup) =>
        Result.succeed({
          inputFormat: format,
          outputFormat: format,
          canCancel: true,
          instructions: setup.instructions,
          connect: (listener) => connect(setup, listener)
        })
    }
    return {
      model,
      left: Deferred.await(left),
      heard: () => Effect.sync(() => Buffer.concat(sound)),
      received: () => received,
      key: Effect.sync(() => key)
    }
  })

export const later = (put: () => void, millis: number): void => void setTimeout(put, millis)

export type Change = (model: RealtimeModel) => RealtimeModel
type Tell = (event: VendorEvent) => void

export const preparing =
  (change: (prepared: PreparedSession) => PreparedSession): Change =>
  (model) => ({ ...model, prepare: (setup) => Result.map(model.prepare(setup), change) })

export const settingUp =
  (fields: Partial<SessionSetup>): Change =>
  (model) => ({ ...model, prepare: (setup) => model.prepare({ ...setup, ...fields }) })

export const connecting = (change: (connect: PreparedSession["connect"]) => PreparedSession["connect"]): Change =>
  preparing((prepared) => ({ ...prepared, connect: change(prepared.connect) }))

export const linking = (change: (link: VendorLink) => Partial<VendorLink>): Change =>
  connecting((connect) => (listener) => Effect.map(connect(listener), (link) => ({ ...link, ...change(link) })))

export const listening = (change: (listener: VendorListener) => Partial<VendorListener>): Change =>
  connecting((connect) => (listener) => connect({ ...listener, ...change(listener) }))

export const telling = (change: (event: VendorEvent, tell: Tell) => void): Change =>
  listening(({ event: tell }) => ({ event: (event) => change(event, tell) }))

/** Tells an event as another one, or several. */
export const each = <Tag extends VendorEvent["_tag"]>(
  tag: Tag,
  change: (event: Extract<VendorEvent, { readonly _tag: Tag }>, tell: Tell) => void
): Change => {
  const isOne = (event: VendorEvent): event is Extract<VendorEvent, { readonly _tag: Tag }> => event._tag === tag
  return telling((event, tell) => (isOne(event) ? change(event, tell) : tell(event)))
}

export const twice = (tag: VendorEvent["_tag"]): Change => each(tag, (event, tell) => (tell(event), tell(event)))
export const again = (tag: VendorEvent["_tag"]): Change =>
  each(tag, (event, tell) => {
    tell(event)
    later(() => tell(event), 5)
  })
export const swallowing = (...tags: ReadonlyArray<VendorCommand["_tag"]>): Change =>
  linking(({ send }) => ({ send: (command) => (tags.includes(command._tag) ? null : send(command)) }))

/** The contract of `RealtimeModel` on a voice from parts. The suite plays a vendor, so this file plays the user who asks for each answer. */
import { type ChatEvent, type ModelError, noUsage } from "@colloquy/core/adapters"
import type { RealtimeModel, VendorLink } from "@colloquy/core/realtime"
import { type OpenVendor, realtimeModelSuite } from "@colloquy/testing/contracts"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { VoiceParts } from "../../src/voice-parts/index.ts"
import { failure, finished, voiceParts, writes } from "./Parts.ts"

const open: OpenVendor = (plays) =>
  Effect.sync(() => {
    const left = Deferred.makeUnsafe<void>()
    const heard = Deferred.makeUnsafe<Uint8Array>()
    const key = Deferred.makeUnsafe<string>()
    const list = plays === "refused" ? [] : [...plays]
    const received: Array<string> = []
    let sound = new Uint8Array()
    let link: VendorLink | null = null
    const ask = () => queueMicrotask(() => link?.send({ _tag: "Text", text: "And?" }))
    const parts = VoiceParts.model({
      models: {
        "voice-1": voiceParts({
          hears: (recording) => {
            Deferred.doneUnsafe(heard, Effect.succeed(recording))
            received.push("a recording")
            return ""
          },
          thinks: ({ apiKey, messages, system, tools }): Stream.Stream<ChatEvent, ModelError> => {
            received.push(JSON.stringify({ system, tools, messages }))
            Deferred.doneUnsafe(key, Effect.succeed(apiKey === null ? "sk-of-the-host" : Redacted.value(apiKey)))
            const play = list.shift()
            if (play === undefined) return writes("")
            if ("closes" in play) return Stream.fail(failure("auth"))
            if ("says" in play) {
              sound = play.audio.slice()
              return Stream.fromIterable<ChatEvent>([
                { _tag: "TextDelta", text: play.says },
                { _tag: "Usage", usage: { ...noUsage, ...play.usage } },
                finished
              ])
            }
            return Stream.fromIterable<ChatEvent>([
              { _tag: "ToolCallReady", call: play.calls },
              { ...finished, reason: "tool_calls" }
            ])
          },
          speaks: () => sound
        })
      },
      open:
        plays === "refused"
          ? Effect.fail(failure("connection"))
          : Effect.acquireRelease(Effect.void, () => Deferred.succeed(left, undefined))
    })
    const model: RealtimeModel = {
      ...parts,
      prepare: (setup) =>
        Result.map(parts.prepare({ ...setup, options: { turn_detection: null } }), (prepared) => ({
          ...prepared,
          connect: (listener) =>
            Effect.map(
              prepared.connect({
                ...listener,
                event: (event) => {
                  listener.event(event)
                  // Nobody but the session itself is told to cancel.
                  if (event._tag === "Interrupted") received.push("cancelled")
                  if ((event._tag === "Ready" || event._tag === "ResponseDone") && list.length > 0) ask()
                }
              }),
              (opened) => (link = opened)
            )
        }))
    }
    return {
      model,
      left: Deferred.await(left),
      heard: () => Deferred.await(heard),
      received: () => received,
      key: Effect.suspend(() => {
        link?.send({ _tag: "Text", text: "And?" })
        return Deferred.await(key)
      })
    }
  })

realtimeModelSuite("a voice from parts", open)

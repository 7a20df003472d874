/** A voice session with the real provider: it opens, answers a text in sound and words, and reports its usage. */
import type { Usage } from "@colloquy/core"
import { addUsage, noUsage } from "@colloquy/core/adapters"
import type { RealtimeModel, VendorEvent, VendorLink } from "@colloquy/core/realtime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { DoesNotHold, type LiveCheck } from "./LiveCheck.ts"

interface Call {
  readonly link: VendorLink
  readonly soundBytes: () => number
  readonly words: () => string
  readonly usage: () => Usage
  /** Waits for an event of this kind; fails when the provider reports an error or leaves. */
  readonly next: (tag: VendorEvent["_tag"]) => Effect.Effect<void, DoesNotHold>
}

const open = (model: RealtimeModel, name: string): Effect.Effect<Call, Error, Scope.Scope> =>
  Effect.gen(function* () {
    const instructions = "You are brief."
    const prepared = model.prepare({ model: name, instructions, tools: [], options: {}, history: [], apiKey: null })
    if (Result.isFailure(prepared)) return yield* new DoesNotHold({ reason: prepared.failure.reason })
    const seen = new Set<VendorEvent["_tag"]>()
    const waiting = new Map<VendorEvent["_tag"], Deferred.Deferred<void, DoesNotHold>>()
    let problem: DoesNotHold | null = null
    let soundBytes = 0
    let words = ""
    let usage = noUsage
    const event = (given: VendorEvent): void => {
      seen.add(given._tag)
      if (given._tag === "TranscriptFinal" && given.role === "assistant") words += given.text
      if (given._tag === "Used") usage = addUsage(usage, given.usage)
      if (given._tag === "Failed" || given._tag === "Closed") {
        problem = new DoesNotHold({ reason: given.reason })
        for (const each of waiting.values()) Deferred.doneUnsafe(each, Effect.fail(problem))
      }
      const waiter = waiting.get(given._tag)
      if (waiter !== undefined) Deferred.doneUnsafe(waiter, Effect.void)
    }
    const link = yield* prepared.success.connect({
      event,
      audio: (_, base64) => {
        soundBytes += base64.length
      }
    })
    return {
      link,
      soundBytes: () => soundBytes,
      words: () => words,
      usage: () => usage,
      next: (tag) =>
        Effect.suspend(() => {
          if (seen.has(tag)) return Effect.void
          if (problem !== null) return Effect.fail(problem)
          const waiter = waiting.get(tag) ?? Deferred.makeUnsafe<void, DoesNotHold>()
          waiting.set(tag, waiter)
          return Deferred.await(waiter)
        })
    }
  })

export const sessionChecks = (model: RealtimeModel, name: string): ReadonlyArray<LiveCheck> => [
  {
    group: "session",
    name: "opens, and acknowledges its setup",
    atMostUsd: 0,
    timeout: "30 seconds",
    run: Effect.scoped(
      Effect.as(
        Effect.flatMap(open(model, name), (call) => call.next("Ready")),
        noUsage
      )
    )
  },
  {
    group: "session",
    name: "answers a text in sound and words, with usage",
    atMostUsd: 0.05,
    timeout: "1 minute",
    run: Effect.scoped(
      Effect.gen(function* () {
        const call = yield* open(model, name)
        yield* call.next("Ready")
        call.link.send({ _tag: "Text", text: "Say the word lighthouse, and nothing else." })
        yield* call.next("ResponseDone")
        if (call.soundBytes() === 0) return yield* new DoesNotHold({ reason: "The answer has no sound." })
        if (call.words() === "") return yield* new DoesNotHold({ reason: "The answer has no transcript." })
        const usage = call.usage()
        if (usage.estimated) return yield* new DoesNotHold({ reason: "The provider reported no usage." })
        return usage
      })
    )
  }
]

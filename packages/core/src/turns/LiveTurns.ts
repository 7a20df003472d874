/**
 * Makes the view that a part or a hosted tool has of a leg (`LiveTurn`). What the part tells, keeps and spends becomes events of the leg's
 * log.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { Metering } from "../metering/Metering.ts"
import type { EndCharge } from "../metering/PaidCall.ts"
import { chargeWithinBounds } from "../models/ReportedFigures.ts"
import { type AssistantId, newId, RunId } from "../primitives/Ids.ts"
import { Deadlines } from "../primitives/Deadlines.ts"
import type { History } from "../threads/Message.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import type { ChildEnd, LiveTurn, NewChild } from "../tools/LiveTurn.ts"
import { CallCount, callsIn, mostDepth, mostModelCalls } from "./ChildRuns.ts"
import { HandOvers, mostHandOvers } from "./HandOvers.ts"
import type { Leg } from "./Leg.ts"
import { mustBeJson } from "./RegisteredPart.ts"
import { legRewriting } from "./Rewriting.ts"
import type { TurnEvent } from "./TurnEvent.ts"

type Push = (make: (sequence: number) => TurnEvent) => TurnEvent | null

/** The model calls of the run so far. */
const countModelCalls = ({ lease, log }: Leg, { messages }: History): number =>
  callsIn(messages.filter(({ runId }) => runId === lease.runId)) +
  log.events.filter(({ _tag }) => _tag === "StepStarted").length

export class LiveTurns extends Context.Service<
  LiveTurns,
  {
    /** `part` is the part to which the events belong. After the end of the leg, all its calls are ignored. */
    readonly of: (leg: Leg, part: string, history: History) => LiveTurn
  }
>()("@colloquy/core/turns/LiveTurns") {
  static readonly layer: Layer.Layer<LiveTurns, never, Deadlines | ThreadStore | HandOvers> = Layer.effect(
    LiveTurns,
    Effect.gen(function* () {
      const threads = yield* ThreadStore
      const deadlines = yield* Deadlines
      const { ensureCredit } = yield* Metering
      const handOvers = yield* HandOvers
      /** Legs of which a call hands the conversation over at the moment: the first one of a step does. */
      const handing = new WeakSet<Leg>()

      const handOver = Effect.fnUntraced(function* (leg: Leg, push: Push, wanted: AssistantId | null) {
        const { threadId } = leg.lease
        const found = yield* threads.get(threadId)
        if (Option.isNone(found)) return "The conversation was deleted."
        const own = found.value.assistantId
        const id = wanted ?? own
        const count = leg.log.events.filter(({ _tag }) => _tag === "HandedOver").length
        if (count >= mostHandOvers) return "The conversation was handed over often enough."
        const planned = yield* Effect.result(handOvers.plan(leg.plan, id, id === own))
        if (Result.isFailure(planned)) {
          return planned.failure._tag === "HandOverRefused" ? planned.failure.message : yield* planned.failure
        }
        const { apiKey, assistant, leg: next } = planned.success
        const { guards, model, provider } = next.plan
        // Both or none: a call whose time is over leaves no thread that another assistant has, and no answer of it.
        const stored = threads.handOver(threadId, id === own ? null : id)
        const isStored = yield* Effect.uninterruptible(
          Effect.tap(stored, (isThere) => {
            if (!isThere) return Effect.void
            leg.next = { ...next, assistantId: id, apiKey }
            const more = { assistant: { id, version: assistant.version }, provider, model, ...(guards && { guards }) }
            return Effect.sync(() => push((sequence) => ({ _tag: "HandedOver", sequence, ...more })))
          })
        )
        return isStored ? null : "That assistant was deleted."
      })

      const of = (leg: Leg, part: string, history: History): LiveTurn => {
        const { assistantId, lease, log, model, tail } = leg
        const asked = history.messages.find((message) => message.runId === lease.runId && message.role === "user")
        const push: Push = (make) => {
          if (leg.hasEnded) return null
          const event = log.push(make)
          log.wake()
          return event
        }
        const turn: LiveTurn = {
          threadId: lease.threadId,
          assistantId,
          runId: lease.runId,
          rewriting: legRewriting(leg, "recalled"),
          answerId: leg.answerId,
          content: asked?.content ?? "",
          metadata: asked?.metadata ?? null,
          provider: model.provider,
          model: model.model,
          tell: ({ data, isLive = false, type }) => {
            mustBeJson(part, data)
            const event = push((sequence) => ({ _tag: "PartTold", sequence, part, type, data, isLive }))
            if (isLive && event !== null) leg.liveEvents.add(event, data)
          },
          keep: (value) => {
            mustBeJson(part, value)
            push((sequence) => ({ _tag: "PartKept", sequence, part, value }))
          },
          kept: () => {
            const last = log.events.findLast((event) => event._tag === "PartKept" && event.part === part)
            return last?._tag === "PartKept" ? last.value : null
          },
          spend: (spent) => {
            const charge = chargeWithinBounds(spent)
            push((sequence) => ({ _tag: "Charged", sequence, charge }))
            // Written without delay, so that a charge is not lost when the process dies.
            tail.writeSoon()
            log.wake()
          },
          beginCharge: (payee) =>
            Effect.suspend(() => {
              const began = push((sequence) => ({ _tag: "PaidCallBegan", sequence, payee }))?.sequence
              const end: EndCharge = (charges) =>
                Effect.sync(() => {
                  for (const charge of charges) turn.spend(charge)
                  if (began !== undefined) push((sequence) => ({ _tag: "PaidCallEnded", sequence, began }))
                })
              // While the database is unavailable, the turn goes on all the same.
              const noted = deadlines.within("1 second", tail.stored, () => Effect.succeed(false))
              return Effect.as(began === undefined ? Effect.void : noted, end)
            }),
          beginRun: Effect.fnUntraced(function* (child: NewChild) {
            const depth = leg.depth + 1
            leg.calls ??= CallCount.of(mostModelCalls - countModelCalls(leg, history))
            const calls = depth > mostDepth ? null : leg.calls.begin()
            if (calls === null) return null
            const runId = yield* newId(RunId)
            push((sequence) => ({ _tag: "ChildBegan", sequence, child: { ...child, runId } }))
            yield* deadlines.within("1 second", tail.stored, () => Effect.succeed(false))
            const { budget: own } = leg
            const budget = own?.below(runId) ?? null
            const { runId: parent, threadId: parentThread } = lease
            let hasEnded = false
            return {
              child: { runId, parent, parentThread, depth, calls, budget },
              end: ({ calls: open, ...end }: ChildEnd) => {
                if (hasEnded) return
                hasEnded = true
                const modelCalls = calls.taken
                calls.release()
                own?.ended(runId, end.usage)
                for (const { approval, of: ids, ...call } of open ?? []) {
                  const { expiresAt = null, question } = approval ?? {}
                  const required = { call, expiresAt, ...(question && { question }), ...(ids && { of: ids }) }
                  push((sequence) => ({ _tag: "ApprovalRequired", sequence, ...required }))
                }
                const waits = open === undefined ? {} : { calls: open }
                push((sequence) => ({ _tag: "ChildEnded", sequence, runId, end: { ...end, modelCalls }, ...waits }))
                tail.writeSoon()
                log.wake()
              }
            }
          }),
          handOver: (wanted) =>
            Effect.suspend(() => {
              if (leg.hasEnded || leg.next !== null || handing.has(leg))
                return Effect.succeed("Another call hands the conversation over.")
              handing.add(leg)
              return Effect.ensuring(
                handOver(leg, push, wanted),
                Effect.sync(() => handing.delete(leg))
              )
            }),
          journal: (fields) => Effect.asVoid(threads.mergeMetadata(lease.threadId, fields)),
          ensureCredit: (need) => Effect.andThen(leg.budget?.spend(need) ?? Effect.void, ensureCredit(need))
        }
        return turn
      }
      return LiveTurns.of({ of })
    })
  )
}

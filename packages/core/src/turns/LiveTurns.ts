/** What a part or a hosted tool sees of a leg (`LiveTurn`), and how what it says comes into the leg's log. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Metering } from "../metering/Metering.ts"
import type { History } from "../threads/Message.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { Leg } from "./Leg.ts"
import { chargeWithinBounds } from "./Settlement.ts"
import type { TurnEvent } from "./TurnEvent.ts"

export class LiveTurns extends Context.Service<
  LiveTurns,
  {
    /** `part` names whose events these are. After the leg has ended nothing is taken any more. */
    readonly of: (leg: Leg, part: string, history: History) => LiveTurn
  }
>()("@colloquy/core/turns/LiveTurns") {
  static readonly layer: Layer.Layer<LiveTurns, never, ThreadStore> = Layer.effect(
    LiveTurns,
    Effect.gen(function* () {
      const threads = yield* ThreadStore
      const { ensureCredit } = yield* Metering

      const of = (leg: Leg, part: string, history: History): LiveTurn => {
        const { assistantId, lease, log, model, tail } = leg
        const asked = history.messages.find((message) => message.runId === lease.runId && message.role === "user")
        const push = (make: (sequence: number) => TurnEvent): TurnEvent | null => {
          if (leg.hasEnded) return null
          const event = log.push(make)
          log.wake()
          return event
        }
        return {
          threadId: lease.threadId,
          assistantId,
          runId: lease.runId,
          answerId: leg.answerId,
          content: asked?.content ?? "",
          metadata: asked?.metadata ?? null,
          provider: model.provider,
          model: model.model,
          tell: ({ data, isLive = false, type }) => {
            mustBeJson(part, data)
            const event = push((sequence) => ({ _tag: "PartTold", sequence, part, type, data, isLive }))
            if (isLive && event !== null) leg.liveNews.add(event, data)
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
            // Written at once: a process that dies must not forget what was spent.
            tail.urge()
            log.wake()
          },
          journal: (fields) => Effect.asVoid(threads.mergeMetadata(lease.threadId, fields)),
          ensureCredit
        }
      }
      return LiveTurns.of({ of })
    })
  )
}

const isJson = Schema.is(Schema.Json)

/** One event that cannot be written would take the whole log of the run with it. The fault belongs to the part that makes it. */
export const mustBeJson = (part: string, data: unknown): void => {
  if (!isJson(data)) throw new TypeError(`The part "${part}" told or kept something that is no JSON`)
}

/** Reads the input of `Inspection` from the store: the whole log of a run, page by page, and the messages of its thread. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Principal } from "../access/Principal.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Run } from "../runs/Run.ts"
import { RunStore } from "../runs/RunStore.ts"
import { RecalledTexts } from "../threads/RecalledTexts.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { HostedTools } from "../tools/HostedTool.ts"
import { chargesIn, failuresIn, type Inspection, promptsOf, stepsOf } from "./Inspection.ts"
import { offeredTools, toolsOf } from "./Leg.ts"
import { plannedParts } from "./PartDecisions.ts"
import { decodeExplanation } from "./Settlement.ts"
import { fromLog, type TurnEvent } from "./TurnEvent.ts"
import { TurnParts } from "./TurnParts.ts"
import { decodePlan } from "./TurnPlan.ts"

export class InspectRun extends Context.Service<
  InspectRun,
  { readonly inspect: (run: Run) => Effect.Effect<Inspection, StoreUnavailable, Principal> }
>()("@colloquy/core/turns/InspectRun") {
  static readonly layer: Layer.Layer<
    InspectRun,
    never,
    RecalledTexts | RunStore | ThreadStore | TurnParts | HostedTools
  > = Layer.effect(
    InspectRun,
    Effect.gen(function* () {
      const store = yield* RunStore
      const threads = yield* ThreadStore
      const parts = yield* TurnParts
      const hosted = yield* HostedTools
      const texts = yield* RecalledTexts
      const counter = yield* TokenCounter

      const wholeLog = Effect.fnUntraced(function* (run: Run) {
        const events: Array<TurnEvent> = []
        while (true) {
          const page = fromLog(yield* store.read(run.id, events.at(-1)?.sequence ?? 0))
          events.push(...page)
          if (page.length === 0 || (events.at(-1)?.sequence ?? 0) >= run.lastSequence) return events
        }
      })

      const inspect = Effect.fnUntraced(function* (run: Run) {
        const events = yield* wholeLog(run)
        const explanation = decodeExplanation(run.explanation)
        const fromLogAlone = { steps: stepsOf(run, events), charges: chargesIn(events), failures: failuresIn(events) }
        if (explanation === null) return { ...fromLogAlone, prompts: [] }
        const plan = decodePlan(run.plan)
        const planned = yield* plannedParts(parts.all(), plan.parts ?? {})
        const offered = offeredTools(plan, planned, hosted.all())
        const prompts = promptsOf({
          run,
          explanation,
          system: plan.system,
          tools: toolsOf(plan, offered),
          messages: yield* texts.messages(yield* threads.messages([run.threadId])),
          counter,
          events
        })
        return { ...fromLogAlone, prompts }
      })

      return InspectRun.of({ inspect })
    })
  )
}

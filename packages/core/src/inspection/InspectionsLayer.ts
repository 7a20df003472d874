/** Reads the input of `Inspection` from the store: the whole log of a run, page by page, and the messages of its thread. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Principal } from "../access/Principal.ts"
import { inWholeTokens, TokenCounter } from "../models/TokenCounter.ts"
import type { RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { tracedFn } from "../primitives/Traced.ts"
import { type Run, RunNotFound } from "../runs/Run.ts"
import { RunStore } from "../runs/RunStore.ts"
import { RecalledTexts } from "../threads/RecalledTexts.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { HostedTools } from "../tools/HostedTool.ts"
import { chargesIn, failuresIn, type Inspection, readPrompts, inspectSteps, summaryIn } from "./Inspection.ts"
import { Inspections } from "./Inspections.ts"
import { offeredTools, toolsForModel } from "../turns/Leg.ts"
import { plannedParts } from "../turns/PlannedParts.ts"
import { decodeExplanation } from "../turns/Settlement.ts"
import { fromLog, type TurnEvent } from "../turns/TurnEvent.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import { decodePlan } from "../turns/TurnPlan.ts"

type Child = Extract<TurnEvent, { readonly _tag: "ChildBegan" }>["child"]

export const inspectionsLayer: Layer.Layer<
  Inspections,
  never,
  RecalledTexts | RunStore | ThreadStore | TurnParts | HostedTools
> = Layer.effect(
  Inspections,
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

    const inspectChild = Effect.fnUntraced(function* ({ name, runId, threadId, toolCallId }: Child) {
      const run = yield* store.get(runId)
      const inspection: Inspection | null = Option.isSome(run) ? yield* inspectRun(run.value) : null
      return { toolCallId, name, threadId, runId, inspection }
    })

    const childrenIn = (events: ReadonlyArray<TurnEvent>) =>
      Effect.forEach(
        events.flatMap((event) => (event._tag === "ChildBegan" ? [event.child] : [])),
        inspectChild
      )

    const inspectRun: (run: Run) => Effect.Effect<Inspection, StoreUnavailable, Principal> = Effect.fnUntraced(
      function* (run) {
        const events = yield* wholeLog(run)
        const explanation = decodeExplanation(run.explanation)
        const plan = decodePlan(run.plan)
        const fromRecords = {
          steps: inspectSteps(run, events),
          charges: chargesIn(events),
          failures: failuresIn(events),
          children: yield* childrenIn(events),
          summary: summaryIn(plan)
        }
        if (explanation === null) return { ...fromRecords, prompts: [] }
        const planned = yield* plannedParts(parts.all(), plan.parts ?? {})
        const offered = offeredTools(plan, planned, hosted.all())
        const prompts = readPrompts({
          run,
          explanation,
          system: plan.system,
          tools: toolsForModel(plan, offered),
          messages: yield* texts.messages(yield* threads.messages([run.threadId])),
          counter,
          events
        })
        return { ...fromRecords, prompts }
      }
    )

    const inspect = tracedFn("Inspections.inspect")(function* (threadId: ThreadId, runId: RunId) {
      const run = yield* store.get(runId)
      if (Option.isNone(run) || run.value.threadId !== threadId) return yield* new RunNotFound({ runId })
      return yield* inspectRun(run.value)
    })

    return Inspections.of({ inspect })
  })
).pipe(Layer.provide(inWholeTokens))

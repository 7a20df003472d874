/** Reads what `Inspection` folds: the whole log of a run, page by page, and the thread that it belongs to. */
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { Run } from "../runs/Run.ts"
import { chargesIn, type Inspection, promptOf, stepsOf } from "./Inspection.ts"
import { plannedParts } from "./PartDecisions.ts"
import { decodeExplanation } from "./Settlement.ts"
import { fromLog, type TurnEvent } from "./TurnEvent.ts"
import { decodePlan } from "./TurnPlan.ts"
import type { Workshop } from "./Workshop.ts"

export const inspectRun = Effect.fnUntraced(function* (
  workshop: Pick<Workshop, "counter" | "hosted" | "parts" | "store" | "threads">,
  run: Run
): Effect.fn.Return<Inspection, StoreUnavailable, Principal> {
  const events = yield* wholeLog(workshop.store, run)
  const explanation = decodeExplanation(run.explanation)
  const told = { steps: stepsOf(run, events), charges: chargesIn(events) }
  if (explanation === null) return { ...told, prompt: null }
  const plan = decodePlan(run.plan)
  const ofParts = plannedParts(workshop.parts(), plan.parts ?? {}).flatMap(({ tools }) => tools)
  const hosted = [...ofParts, ...workshop.hosted()]
    .map(({ definition }) => definition)
    .filter(({ name }) => plan.hosted.includes(name))
  const prompt = promptOf({
    run,
    explanation,
    system: plan.system,
    tools: [...hosted, ...plan.tools],
    messages: yield* workshop.threads.messages([run.threadId]),
    counter: workshop.counter
  })
  return { ...told, prompt }
})

const wholeLog = Effect.fnUntraced(function* (store: Workshop["store"], run: Run) {
  const events: Array<TurnEvent> = []
  while (true) {
    const page = fromLog(yield* store.read(run.id, events.at(-1)?.sequence ?? 0))
    events.push(...page)
    if (page.length === 0 || (events.at(-1)?.sequence ?? 0) >= run.lastSequence) return events
  }
})

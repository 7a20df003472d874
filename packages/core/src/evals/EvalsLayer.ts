/** The wing `evals`: its use cases over the store. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AssistantStore } from "../assistants/AssistantStore.ts"
import type { RunStore } from "../runs/RunStore.ts"
import type { Threads } from "../threads/Threads.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import { makeCases } from "./Cases.ts"
import { Evals } from "./Evals.ts"
import type { EvalStore } from "./EvalStore.ts"

export const layerEvals: Layer.Layer<Evals, never, AssistantStore | EvalStore | RunStore | Threads | ThreadStore> =
  Layer.effect(
    Evals,
    Effect.map(makeCases, (cases) => Evals.of(cases))
  )

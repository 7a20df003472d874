/** The wing `inspection`: what happened inside a run, with its steps, charges and prompts. It takes no part in turns. */
import { inspectionsLayer } from "./InspectionsLayer.ts"
import { Inspections as UseCases } from "./Inspections.ts"

export type { Inspection, ReadMessage, ReadPart, ReadPrompt, RunStep } from "./Inspection.ts"

/** The use case, and its layer: over `Kernel.layer`, `Inspections.layer()`. It has no settings. */
export const Inspections = Object.assign(UseCases, { layer: () => inspectionsLayer })
export type Inspections = UseCases

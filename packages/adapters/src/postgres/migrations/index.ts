/** The history of the schema, oldest first. A new step goes to the end. */
import { M0001Threads } from "./M0001Threads.ts"
import { M0002Runs } from "./M0002Runs.ts"
import { M0003RunSteps } from "./M0003RunSteps.ts"
import { M0004RunStarts } from "./M0004RunStarts.ts"
import { M0005RunEnds } from "./M0005RunEnds.ts"
import { M0006ProviderKeys } from "./M0006ProviderKeys.ts"
import { M0007RateLimits } from "./M0007RateLimits.ts"
import { M0008MessageTexts } from "./M0008MessageTexts.ts"
import { M0009AppendMany } from "./M0009AppendMany.ts"
import { M0010LeanTurns } from "./M0010LeanTurns.ts"
import type { Migration } from "./Migration.ts"

export const migrations: ReadonlyArray<Migration> = [
  M0001Threads,
  M0002Runs,
  M0003RunSteps,
  M0004RunStarts,
  M0005RunEnds,
  M0006ProviderKeys,
  M0007RateLimits,
  M0008MessageTexts,
  M0009AppendMany,
  M0010LeanTurns
]

/**
 * How a contract's sentence becomes a test: run on behalf of an owner of its own, over the layer of the suite. What a contract file sees
 * of the test runner is this and `assert`.
 */
import type { Vitest } from "@effect/vitest"
import type * as Effect from "effect/Effect"
import type { KeyStore } from "../access/Keys.ts"
import type { Principal } from "../access/Principal.ts"
import type { AssistantStore } from "../assistants/AssistantStore.ts"
import type { UsageLedger } from "../metering/UsageLedger.ts"
import type { FollowUpStore } from "../runs/FollowUpStore.ts"
import type { RunStore } from "../runs/RunStore.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import { asNewOwner } from "./Samples.ts"

/** The storage ports, which one adapter implements together: a run writes what the others read. */
export type Stores = AssistantStore | FollowUpStore | KeyStore | RunStore | ThreadStore | UsageLedger

export interface Capabilities {
  /** The store's own clock is Effect's `Clock`, so that a test may move it. Without it, what needs days to pass is not tested. */
  readonly testClock: boolean
  /** The store tells of changes. Without it, `onChange` stays silent. */
  readonly signals: boolean
}

type Sentence<Ports> = (title: string, effect: Effect.Effect<void, unknown, Ports | Principal>) => void

/** `Ports`: what the suite's layer provides. A wing's suite has its own. */
export interface ContractTest<Ports = Stores> {
  (...sentence: Parameters<Sentence<Ports>>): void
  /** A sentence about stores with this capability only. */
  readonly withCapability: (capability: keyof Capabilities) => Sentence<Ports>
}

export const contractTest = <Ports = Stores>(
  it: Vitest.MethodsNonLive<Ports>,
  capabilities: Capabilities
): ContractTest<Ports> => {
  const runIf =
    (condition: boolean): Sentence<Ports> =>
    (title, effect) =>
      it.effect.runIf(condition)(title, () => asNewOwner(effect))
  return Object.assign(runIf(true), {
    withCapability: (capability: keyof Capabilities) => runIf(capabilities[capability])
  })
}

/**
 * Turns a sentence of a contract into a test: it runs for its own owner, over the layer of the suite. Contract files use only this module
 * and `assert` of the test runner.
 */
import type { Principal } from "@colloquy/core"
import type {
  AssistantStore,
  FollowUpStore,
  InboxStore,
  KeyStore,
  OwnerStore,
  QuotaStore,
  RunStore,
  ThreadStore,
  UsageLedger
} from "@colloquy/core/adapters"
import type { Vitest } from "@effect/vitest"
import type * as Effect from "effect/Effect"
import { asNewOwner } from "./Samples.ts"

/** The storage ports that one adapter implements together, because a run writes records that the other ports read. */
export type Stores =
  | AssistantStore
  | FollowUpStore
  | InboxStore
  | KeyStore
  | OwnerStore
  | QuotaStore
  | RunStore
  | ThreadStore
  | UsageLedger

/** What the stores under test can do. */
export interface Capabilities {
  /** True if the store's clock is Effect's `Clock`, so that a test may move it. Otherwise, promises about days are not tested. */
  readonly testClock: boolean
  /** True if the store reports changes. Otherwise `onChange` never calls back. */
  readonly signals: boolean
}

type Sentence<Ports> = (title: string, effect: Effect.Effect<void, unknown, Ports | Principal>) => void

/** `Ports` is what the suite's layer provides. The suite of a wing has its own ports. */
export interface ContractTest<Ports = Stores> {
  (...sentence: Parameters<Sentence<Ports>>): void
  /** A sentence that is tested only for stores with this capability. */
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

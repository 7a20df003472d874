/**
 * Turns a sentence of a contract into a test: it runs for its own owner, over the layer of the suite. The contracts of stores use of the
 * test runner only `assert`.
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
import { layer, type Vitest } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
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

/** Takes a sentence of a contract with its test. */
export type Sentence<Ports> = (
  title: string,
  body: () => Generator<Effect.Effect<unknown, unknown, Ports | Principal>, void, never>
) => void

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
    (title, body) =>
      it.effect.runIf(condition)(title, () => asNewOwner(Effect.gen(body)))
  return Object.assign(runIf(true), {
    withCapability: (capability: keyof Capabilities) => runIf(capabilities[capability])
  })
}

/** A suite of its own for one port. Its layer is built once, and runs with the real clock. */
export const storeSuite = <Ports>(
  name: string,
  stores: Layer.Layer<Ports, unknown>,
  sentences: (test: Sentence<Ports>) => void
): void =>
  layer(stores, { excludeTestServices: true, timeout: "2 minutes" })(name, (it) =>
    sentences(contractTest(it, { testClock: false, signals: false }))
  )

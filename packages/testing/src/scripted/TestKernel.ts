/**
 * A complete kernel for a test, in one line: in-memory stores, a scripted model, no network. `layer` is for tests that use Effect; `open` returns
 * the same kernel with promises and async iterables. For every timer of the kernel, time passes only when the test moves its clock.
 */
import {
  defaultTurnSettings,
  type HostedTool,
  HostedTools,
  Kernel,
  Metering,
  type MeteringPort,
  noQuota,
  type Quota,
  Quotas,
  TokenCounter,
  TurnSettings
} from "@colloquy/core"
import { type Stores, type TokenCounterPort } from "@colloquy/core/adapters"
import { Helpers } from "@colloquy/core/helpers"
import { Outputs } from "@colloquy/core/outputs"
import { type OpenKernel, openKernel } from "@colloquy/core/promises"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { InMemory } from "@colloquy/adapters/in-memory"
import type { ScriptStep } from "./Script.ts"
import { ScriptedModel, type ScriptedOptions } from "./ScriptedModel.ts"

/** The model, the settings and the tools of a kernel for tests. */
export interface TestKernelOptions {
  readonly model?: ScriptedOptions
  readonly settings?: Partial<TurnSettings>
  readonly hosted?: ReadonlyArray<HostedTool>
  readonly metering?: MeteringPort
  readonly counter?: TokenCounterPort
  /** The quota of every owner. */
  readonly quota?: Partial<Quota>
  /** Default: new in-memory stores. Two kernels with the same `InMemory.State` behave like two processes with the same database. */
  readonly stores?: Layer.Layer<Stores>
  /** The owner for whom `open` works. Default: `owner`. */
  readonly owner?: string
}

/** What a kernel for tests has. */
export type Services = Kernel.Kernel | Stores | ScriptedModel

/** The kernel as a layer, with the clock of the test that builds it. Each layer is a separate kernel, even inside of another one. */
export const layer = (steps: ReadonlyArray<ScriptStep>, options: TestKernelOptions = {}): Layer.Layer<Services> => {
  const settings = Layer.succeed(TurnSettings, Object.assign({}, defaultTurnSettings, options.settings))
  const metering = options.metering === undefined ? Layer.empty : Layer.succeed(Metering, options.metering)
  const counter = options.counter === undefined ? Layer.empty : Layer.succeed(TokenCounter, options.counter)
  const quota = { ...noQuota, ...options.quota }
  const hosted = HostedTools.tools(options.hosted ?? [])
  return Layer.mergeAll(hosted, Outputs.layer(), Helpers.layer()).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide([settings, metering, counter, Layer.succeed(Quotas, () => quota)]),
    Layer.provideMerge(ScriptedModel.layer(steps, options.model)),
    Layer.provideMerge(options.stores ?? InMemory.layer),
    Layer.fresh
  )
}

/** What a test has of an open kernel besides its calls. */
export interface TestTools {
  readonly model: typeof ScriptedModel.Service
  /** Moves the clock of every timer in the kernel. */
  readonly adjust: (duration: Duration.Input) => Promise<void>
}

/** What `TestKernel.open` gives: the calls of an open kernel, the scripted `model`, and `adjust`, which moves the clock. */
export type OpenTestKernel = OpenKernel<Services> & TestTools

/** A clock that stands still until `adjust` moves it. It is provided to everything else. */
export const clock = (): Layer.Layer<never> => TestClock.layer()

/** The tools of a kernel over a `ScriptedModel` and `clock`. */
export const withTools = <Open extends Pick<OpenKernel<ScriptedModel>, "run" | "services">>(
  kernel: Open
): Open & TestTools => ({
  ...kernel,
  model: Context.get(kernel.services, ScriptedModel),
  adjust: (duration) => kernel.run(TestClock.adjust(duration))
})

/** Opens a kernel: `const kernel = await TestKernel.open([say("Hello.")])`. Closing it rejects if the script was not played as written. */
export const open = async (
  steps: ReadonlyArray<ScriptStep>,
  options: TestKernelOptions = {}
): Promise<OpenTestKernel> =>
  withTools(await openKernel(Layer.provideMerge(layer(steps, options), clock()), { owner: options.owner ?? "owner" }))

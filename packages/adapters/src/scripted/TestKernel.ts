/**
 * A whole kernel for a test, in one line: in-memory stores, a scripted model, no network. `layer` is for tests that live in Effect;
 * `open` gives the same kernel as promises and async iterables. Time stands still until a test moves it, for every timer of the kernel.
 */
import {
  defaultTurnSettings,
  type HostedTool,
  HostedTools,
  Kernel,
  Metering,
  type MeteringPort,
  TokenCounter,
  TurnSettings
} from "@colloquy/core"
import { type Stores, type TokenCounterPort } from "@colloquy/core/adapters"
import { type OpenKernel, openKernel } from "@colloquy/core/promises"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as InMemory from "../in-memory/InMemory.ts"
import type { ScriptStep } from "./Script.ts"
import { ScriptedModel, type ScriptedOptions } from "./ScriptedModel.ts"

export interface TestKernelOptions {
  readonly model?: ScriptedOptions
  readonly settings?: Partial<TurnSettings>
  readonly hosted?: ReadonlyArray<HostedTool>
  readonly metering?: MeteringPort
  readonly counter?: TokenCounterPort
  /** Absent: in memory, and its own. Two kernels over one `InMemory.State` are two processes over one database. */
  readonly stores?: Layer.Layer<Stores>
  /** On whose behalf `open` works. */
  readonly owner?: string
}

export type Services = Kernel.Kernel | Stores | ScriptedModel

/** The kernel as a layer, over the clock of the test that builds it. Each is a kernel of its own, also where one is built inside another. */
export const layer = (steps: ReadonlyArray<ScriptStep>, options: TestKernelOptions = {}): Layer.Layer<Services> => {
  const settings = Layer.succeed(TurnSettings, Object.assign({}, defaultTurnSettings, options.settings))
  const metering = options.metering === undefined ? Layer.empty : Layer.succeed(Metering, options.metering)
  const counter = options.counter === undefined ? Layer.empty : Layer.succeed(TokenCounter, options.counter)
  const hosted = HostedTools.tools(options.hosted ?? [])
  return hosted.pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide([settings, metering, counter]),
    Layer.provideMerge(ScriptedModel.layer(steps, options.model)),
    Layer.provideMerge(options.stores ?? InMemory.layer),
    Layer.fresh
  )
}

/** The kernel for code without Effect, as in production, and what a test adds. */
export interface OpenTestKernel extends OpenKernel<Services> {
  readonly model: typeof ScriptedModel.Service
  /** Moves the time of every timer in the kernel. */
  readonly adjust: (duration: Duration.Input) => Promise<void>
}

/** Opens a kernel: `const kernel = await TestKernel.open([say("Hello.")])`. Closing it rejects when the script was not followed. */
export const open = async (
  steps: ReadonlyArray<ScriptStep>,
  options: TestKernelOptions = {}
): Promise<OpenTestKernel> => {
  const kernel = await openKernel(Layer.provideMerge(layer(steps, options), TestClock.layer()), {
    owner: options.owner ?? "owner"
  })
  return {
    ...kernel,
    model: Context.get(kernel.services, ScriptedModel),
    adjust: (duration) => kernel.run(TestClock.adjust(duration))
  }
}

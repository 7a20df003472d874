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
  Principal,
  type StartedTurn,
  TokenCounter,
  type TokenCounterPort,
  type ToolOutputsRequest,
  type TurnEvent,
  type TurnReply,
  type TurnRequest,
  Turns,
  TurnSettings
} from "@colloquy/core"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Stream from "effect/Stream"
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
  readonly stores?: Layer.Layer<InMemory.Stores>
  /** On whose behalf `open` works. */
  readonly owner?: string
}

export type Services = Kernel.Kernel | InMemory.Stores | ScriptedModel

/** The kernel as a layer, over the clock of whoever builds it. Each is a kernel of its own, also where one is built inside another. */
export const layer = (steps: ReadonlyArray<ScriptStep>, options: TestKernelOptions = {}): Layer.Layer<Services> => {
  const settings = Layer.succeed(TurnSettings, Object.assign({}, defaultTurnSettings, options.settings))
  const metering = options.metering === undefined ? Layer.empty : Layer.succeed(Metering, options.metering)
  const counter = options.counter === undefined ? Layer.empty : Layer.succeed(TokenCounter, options.counter)
  const hosted = options.hosted === undefined ? Layer.empty : Layer.succeed(HostedTools, options.hosted)
  return Kernel.layer.pipe(
    Layer.provide([settings, metering, counter, hosted]),
    Layer.provideMerge(ScriptedModel.layer(steps, options.model)),
    Layer.provideMerge(options.stores ?? InMemory.layer),
    Layer.fresh
  )
}

/** A turn that has begun, for code without Effect. */
export interface OpenTurn {
  readonly threadId: TurnReply["threadId"]
  readonly runId: TurnReply["runId"]
  readonly events: AsyncIterable<TurnEvent>
  readonly reply: () => Promise<TurnReply>
}

/** The kernel for code without Effect. Rejections are the kernel's own errors (`ThreadBusy`, `ToolOutputsRejected`, …). */
export interface OpenKernel {
  readonly model: typeof ScriptedModel.Service
  /** A turn and its reply. */
  readonly send: (request: TurnRequest) => Promise<TurnReply>
  /** The events of a turn, as they come. */
  readonly stream: (request: TurnRequest) => AsyncIterable<TurnEvent>
  readonly start: (request: TurnRequest) => Promise<OpenTurn>
  readonly submitToolOutputs: (request: ToolOutputsRequest) => Promise<OpenTurn>
  /** Moves the time of every timer in the kernel. */
  readonly adjust: (duration: Duration.Input) => Promise<void>
  /** Anything else that the kernel can do, on behalf of the owner. */
  readonly run: <A, E>(effect: Effect.Effect<A, E, Services | Principal>) => Promise<A>
  /** Ends the kernel. Rejects when the script was not followed to its end. */
  readonly close: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** Opens a kernel: `const kernel = await TestKernel.open([say("Hello.")])`. Close it at the end of the test. */
export const open = async (steps: ReadonlyArray<ScriptStep>, options: TestKernelOptions = {}): Promise<OpenKernel> => {
  const owner = Principal.provide(options.owner ?? "owner")
  const runtime = ManagedRuntime.make(Layer.provideMerge(layer(steps, options), TestClock.layer()))
  const services = await runtime.context()
  const turns = Context.get(services, Turns)
  const run: OpenKernel["run"] = (effect) => runtime.runPromise(owner(effect))
  const iterable = (events: Stream.Stream<TurnEvent, unknown>) => Stream.toAsyncIterableWith(events, services)
  const opened = ({ events, reply, runId, threadId }: StartedTurn): OpenTurn => ({
    threadId,
    runId,
    events: iterable(events),
    reply: () => run(reply)
  })
  const start: OpenKernel["start"] = async (request) => opened(await run(turns.start(request)))
  const close = () => runtime.dispose()
  return {
    model: Context.get(services, ScriptedModel),
    send: (request) => run(turns.send(request)),
    stream: async function* (request) {
      yield* (await start({ stream: true, ...request })).events
    },
    start,
    submitToolOutputs: async (request) => opened(await run(turns.submitToolOutputs(request))),
    adjust: (duration) => run(TestClock.adjust(duration)),
    run,
    close,
    [Symbol.asyncDispose]: close
  }
}

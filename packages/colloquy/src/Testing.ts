/** Conversations as tests, without Effect: a kernel with a scripted model and a clock that the test moves, of the same type as in production. */
import { type Kernel, Providers } from "@colloquy/core"
import { type Joined, openKernel } from "@colloquy/core/promises"
import { make, ScriptedModel, type ScriptedOptions, type ScriptStep, TestKernel as Kernels } from "@colloquy/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type AnyRoom, type Colloquy, type ColloquyOptions, modelDefaults, makeKernel } from "./Colloquy.ts"
import { withHandler } from "./Handler.ts"
import { inMemory } from "./InMemory.ts"

export {
  callTool,
  callTools,
  cut,
  evaluate,
  type EvaluateTestOptions,
  expect,
  fail,
  finish,
  gate,
  hang,
  type MatcherOptions,
  matchers,
  type Passing,
  type PassMatchers,
  pause,
  say,
  sayInChunks,
  scripted,
  type ScriptedCase,
  type ScriptStep,
  think
} from "@colloquy/testing"

export {
  type CaseResult,
  type Comparison,
  copyAsTest,
  type CopyOptions,
  type Evaluation,
  type Expectation,
  type Gate,
  type GateOptions,
  type HostScorer,
  readCases,
  scorer,
  simulate,
  type SimulateOptions,
  type Simulation,
  type TestCase,
  toJUnit,
  toMarkdown,
  gateRecord,
  type Variant
} from "@colloquy/core/evals"

/** The options of `Colloquy.open`, each of which may be left out. */
export interface TestKernelOptions<Rooms extends ReadonlyArray<AnyRoom> = readonly []> extends Partial<
  ColloquyOptions<Rooms>
> {
  /** What is known of the scripted model, and what it does after the script. It is the first provider, with the id `scripted`. */
  readonly scripted?: Omit<ScriptedOptions, "id">
}

/** What `Colloquy.open` gives, with the scripted model and the clock. */
export type TestKernel<Rooms extends ReadonlyArray<AnyRoom> = readonly []> = Colloquy<Rooms> & Kernels.TestTools

export const TestKernel = {
  /** Without options: an empty store in memory, the owner `owner`. Closing rejects when the script was not followed to its end. */
  open: async <const Rooms extends ReadonlyArray<AnyRoom> = readonly []>(
    steps: ReadonlyArray<ScriptStep>,
    { scripted: script = {}, ...given }: TestKernelOptions<Rooms> = {}
  ): Promise<TestKernel<Rooms>> => {
    const options = { store: inMemory(), providers: [], owner: "owner", ...given }
    const model = Layer.effect(ScriptedModel, make(steps, script))
    const providers = Layer.unwrap(
      Effect.map(ScriptedModel, ({ provider }) =>
        Providers.layer({
          providers: [provider, ...options.providers],
          defaults: modelDefaults(options.model ?? `${provider.id}-model`, provider)
        })
      )
    )
    const kernel = makeKernel(options, Layer.provideMerge(providers, model)).pipe(Layer.provideMerge(Kernels.clock()))
    return withHandler(
      Kernels.withTools(await openKernel<Kernel.Kernel | ScriptedModel, unknown, Joined<Rooms>>(kernel, options))
    )
  }
}

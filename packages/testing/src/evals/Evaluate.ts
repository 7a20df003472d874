/** Cases as tests: `evaluate` of core, with a script of the model for each case. */
import { evaluate as evaluateCases, type EvaluateOptions, type Evaluation, type TestCase } from "@colloquy/core/evals"
import type { ScriptStep } from "../scripted/Script.ts"
import type { ScriptedModel } from "../scripted/ScriptedModel.ts"

/** A case with the script of the model that answers it. */
export interface ScriptedCase extends TestCase {
  /** What the scripted model of the kernel does in each attempt at this case. Absent: the model answers as it does. */
  readonly script?: ReadonlyArray<ScriptStep>
}

/** As for `evaluate`, and a case may bring a `script`, which the scripted model of the kernel plays for it. */
export interface EvaluateTestOptions extends EvaluateOptions<ScriptedCase> {
  readonly kernel: EvaluateOptions["kernel"] & {
    /** The scripted model of a test's kernel. */
    readonly model?: Pick<typeof ScriptedModel.Service, "append">
  }
}

/** Answers every case in every variant and scores the answers. Scripted cases are answered one after the other. */
export const evaluate = async (
  cases: ReadonlyArray<ScriptedCase>,
  options: EvaluateTestOptions
): Promise<Evaluation> => {
  const scripted = cases.find(({ script }) => script !== undefined)
  if (scripted === undefined) return evaluateCases(cases, options)
  const { model } = options.kernel
  if (model === undefined) {
    throw new TypeError("A case has a script, and this kernel has no scripted model. Use `TestKernel.open`.")
  }
  return evaluateCases(cases, {
    ...options,
    concurrency: 1,
    prepare: async (testCase, variant) => {
      model.append(...(testCase.script ?? []))
      await options.prepare?.(testCase, variant)
    }
  })
}

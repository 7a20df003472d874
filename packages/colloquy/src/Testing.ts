/** Conversations as tests, without Effect: a kernel with a scripted model and a clock that the test moves, of the same type as in production. */
import { TestKernel as Kernels, type ScriptStep } from "@colloquy/testing"
import { type WithHandler, withHandler } from "./Handler.ts"

export {
  callTool,
  callTools,
  cut,
  expect,
  fail,
  finish,
  gate,
  hang,
  pause,
  say,
  sayInChunks,
  scripted,
  type ScriptStep,
  think
} from "@colloquy/testing"

export type TestKernel = Kernels.OpenTestKernel & WithHandler

export const TestKernel = {
  /** Closing it rejects when the script was not followed to its end. */
  open: async (steps: ReadonlyArray<ScriptStep>, options?: Kernels.TestKernelOptions): Promise<TestKernel> =>
    withHandler(await Kernels.open(steps, options))
}

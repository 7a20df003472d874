export {
  callTool,
  callTools,
  cite,
  cut,
  draw,
  expect,
  fail,
  finish,
  gate,
  hang,
  pause,
  remembers,
  say,
  sayInChunks,
  think,
  uses
} from "./scripted/Script.ts"
export type { Beat, ScriptStep } from "./scripted/Script.ts"
export { make, scripted, ScriptedModel, type ScriptedOptions } from "./scripted/ScriptedModel.ts"
export { evaluate, type EvaluateTestOptions, type ScriptedCase } from "./evals/Evaluate.ts"
export { type MatcherOptions, type MatcherResult, matchers, type Passing, type PassMatchers } from "./evals/Matchers.ts"
export { simulate, type SimulateOptions, type Simulation } from "@colloquy/core/evals"
export * as Crash from "./scripted/Crash.ts"
export * as ScriptedHearing from "./scripted/ScriptedHearing.ts"
export * as ScriptedVideo from "./scripted/ScriptedVideo.ts"
export * as TestKernel from "./scripted/TestKernel.ts"
export * as ScriptedRealtime from "./scripted/ScriptedRealtime.ts"
export * as TestRealtime from "./scripted/TestRealtime.ts"

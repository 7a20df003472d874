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
} from "./Script.ts"
export type { Beat, ScriptStep } from "./Script.ts"
export { make, scripted, ScriptedModel, type ScriptedOptions } from "./ScriptedModel.ts"
export * as Cassette from "./Cassette.ts"
export * as Crash from "./Crash.ts"
export * as ScriptedVideo from "./ScriptedVideo.ts"
export * as TestKernel from "./TestKernel.ts"
export * as ScriptedRealtime from "./ScriptedRealtime.ts"
export * as TestRealtime from "./TestRealtime.ts"

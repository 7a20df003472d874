export { callTool, cut, expect, fail, finish, pause, reason, remembers, say, silence, uses } from "./Script.ts"
export type { Beat, ScriptStep } from "./Script.ts"
export { make, ScriptedModel, type ScriptedOptions } from "./ScriptedModel.ts"

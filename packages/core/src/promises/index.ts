/** The kernel without Effect: promises, async iterables, and tools from plain functions. */

/** Opening a kernel, and its calls. */
export { type KernelCalls, openKernel, type OpenKernel, type OpenKernelOptions, type UseCases } from "./OpenKernel.ts"
export { type CallOptions, KernelClosed, OwnerMissing } from "./Calls.ts"
export type {
  FollowRequest,
  OpenTurn,
  OutputsRequest,
  RunPlace,
  SendRequest,
  TurnCalls,
  TurnOptions
} from "./OpenTurn.ts"
export type { AssistantCalls, BillingCalls, KeyCalls, ModelCalls, RecordCalls, ThreadCalls } from "./RecordCalls.ts"

/** Tools. */
export { tool, type ToolContext, type ToolOptions } from "./Tool.ts"
export type { ArgumentsOf, DescribedSchema, ToolParameters } from "./ToolParameters.ts"

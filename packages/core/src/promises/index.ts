/** The kernel without Effect: promises, async iterables, and tools from plain functions. */

/** Opening a kernel, and its calls. */
export { type KernelCalls, openKernel, type OpenKernel, type OpenKernelOptions } from "./OpenKernel.ts"
export type { UseCases } from "./UseCases.ts"
export { type CallOptions, KernelClosed, OwnerMissing } from "./Calls.ts"
export { readId } from "./PlainIds.ts"
export { readCount, readPage, readTime } from "./PlainPages.ts"
export { type ApprovalCalls, CallNotFound, type CallOrId, type PendingCall } from "./ApprovalCalls.ts"
export type { RunCalls, RunsFilter } from "./OpenRuns.ts"
export type { BackgroundRun, TurnCalls } from "./OpenTurn.ts"
export type { OpenTurn, SendOptions, TurnOptions } from "./TurnOptions.ts"
export type { FollowRequest, OutputsRequest, RunIds, SendRequest } from "./Requests.ts"
export { type FailedReply, type GoodReply, type Reply, TurnFailed } from "./Reply.ts"
export type {
  CompletedReply,
  GoodOutputReply,
  OutputOf,
  OutputReply,
  OutputSchema,
  UnfinishedReply,
  WantedOutput
} from "./Output.ts"
export type { AssistantCalls, BillingCalls, KeyCalls, ModelCalls, RecordCalls, ThreadCalls } from "./RecordCalls.ts"

/** Rooms: what a host adds as a plain value. */
export {
  type Joined,
  type NoRooms,
  OpenRooms,
  room,
  type Room,
  type RoomFunctions,
  type RoomTypes,
  type RunCall,
  withOptions
} from "./Room.ts"

/** Providers and parts of turns from plain async code. */
export { guard, type PlainGuard } from "./PlainGuard.ts"
export { part, type PartTurn, type PlainPart } from "./PlainPart.ts"
export {
  type AnswerMembers,
  type AnswerPiece,
  type KnownModel,
  modelErrorFrom,
  type PlainChatRequest,
  type PlainEmbeddingRequest,
  type PlainProvider,
  provider
} from "./PlainProvider.ts"

/** Tools. */
export { tool, type ToolContext, type ToolOptions } from "./Tool.ts"
export type { ArgumentsOf, DescribedSchema, ToolParameters } from "./ToolParameters.ts"

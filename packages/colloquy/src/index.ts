/** Colloquy without Effect. Providers and stores have sub-paths of their own: `colloquy/openai`, `colloquy/postgres`, … */
export { type AnyRoom, Colloquy, type ColloquyOptions, type LazyColloquy } from "./Colloquy.ts"
export type { RoomNeeds, Store } from "./Store.ts"
export type { Handlers, WithHandler } from "./Handler.ts"

/** Ports as plain async code, and the layer that the contract suites take. */
export {
  type PlainAudit,
  type PlainBlobs,
  type PlainCredit,
  type PlainPorts,
  type PlainRateLimiter,
  type PortContext,
  portsLayer
} from "./Ports.ts"

/** Tools that run on the server. */
export { HostedToolFailed, type HostedTool, PersonAsked, type PersonsAnswer } from "@colloquy/core"
export { tool, type ToolContext, type ToolOptions } from "@colloquy/core/promises"

/** Providers, parts of turns and guards from plain async code. */
export { ModelError } from "@colloquy/core/adapters"
export {
  type AnswerPiece,
  guard,
  part,
  type PartTurn,
  type PlainChatRequest,
  type PlainEmbeddingRequest,
  type PlainGuard,
  type PlainPart,
  type PlainProvider,
  provider
} from "@colloquy/core/promises"

/** What calls take and give. */
export type {
  CallOptions,
  FailedReply,
  FollowRequest,
  GoodReply,
  KernelCalls,
  OpenTurn,
  OutputsRequest,
  Reply,
  RunIds,
  SendOptions,
  SendRequest,
  TurnOptions
} from "@colloquy/core/promises"
export type {
  Assistant,
  Message,
  Provider,
  Run,
  Thread,
  ToolCall,
  ToolDefinition,
  TurnEvent,
  TurnReply
} from "@colloquy/core"
export {
  assistantDiff,
  type AssistantVersion,
  type FieldChange,
  type NewAssistant,
  type ThreadWithMessages,
  type VersionedAssistant
} from "@colloquy/core/adapters"

/** What calls reject with. */
export { KernelClosed, OwnerMissing, TurnFailed } from "@colloquy/core/promises"
export { AssistantChanged, AssistantVersionNotFound, AssistantVersionUnknown } from "@colloquy/core/adapters"
export {
  AssistantNotFound,
  ContextTooLong,
  EmbeddingModelFixed,
  EmptyMessage,
  FirstAnswerGone,
  IdempotencyConflict,
  InsufficientCredit,
  KeyNotFound,
  ModelNotFound,
  NothingPending,
  ProviderNotFound,
  RunNotFound,
  ShuttingDown,
  StoreUnavailable,
  ThreadBusy,
  ThreadNotFound,
  ToolNameTaken,
  ToolOutputsRejected,
  TurnRefused
} from "@colloquy/core"

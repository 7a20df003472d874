/** The public API of Colloquy's kernel, room by room. `ARCHITECTURE.md` explains the purpose of each room. */

/** The kernel: every use case as one layer over the ports. */
export * as Kernel from "./Kernel.ts"

/** primitives: ids, pages, usage, and the one infrastructure fault. */
export { AssistantId, KeyId, MessageId, OwnerId, RunId, ThreadId } from "./primitives/Ids.ts"
export { Page } from "./primitives/Page.ts"
export { Usage } from "./primitives/Usage.ts"
export { StoreUnavailable } from "./primitives/StoreUnavailable.ts"
export { SpanContent } from "./models/SpanContent.ts"

/** access: principals, and the keys that prove who is asking. */
export { Principal } from "./access/Principal.ts"
export { InvalidKey, KeyNotFound, Keys } from "./access/Keys.ts"
export { AuditAction, AuditLog } from "./access/AuditLog.ts"
export { KeyScope } from "./access/KeyScope.ts"
export { ProviderKeys } from "./access/ProviderKeys.ts"
export { RateLimiter } from "./access/RateLimiter.ts"

/** metering: credit before a turn, and charges after it. */
export { Charge } from "./metering/Charge.ts"
export { InsufficientCredit, Metering, type MeteringPort } from "./metering/Metering.ts"
export { Billing } from "./metering/Billing.ts"
export { type Allowance, type AllowanceReport, Allowances } from "./metering/Allowances.ts"
export { type AssumedPrices, noQuota, OverLimit, type Quota, Quotas } from "./metering/Quota.ts"

/** tools: what a model may call, and what runs it. */
export { ToolDefinition } from "./tools/ToolDefinition.ts"
export { ToolCall, ToolOutput } from "./tools/ToolCall.ts"
export { AlreadyDecided, DecisionsRejected, ToolOutputsRejected } from "./tools/ToolRoundTrip.ts"
export type { LiveTurn } from "./tools/LiveTurn.ts"
export { type HostedTool, HostedToolFailed, HostedTools, PersonAsked, type PersonsAnswer } from "./tools/HostedTool.ts"

/** models: what a provider implements, and how it is registered. */
export { ModelInfo } from "./models/ModelInfo.ts"
export { type Provider, ModelNotNamed, ProviderNotFound, Providers } from "./models/Provider.ts"
export { NameTooLong } from "./models/NameTooLong.ts"
export { TokenCounter } from "./models/TokenCounter.ts"

/** catalog: the models that exist. */
export { Catalog, HostModels, ModelNotFound } from "./catalog/Catalog.ts"

/** threads: conversations and their messages. */
export { Thread, ThreadNotFound } from "./threads/Thread.ts"
export { Message } from "./threads/Message.ts"
export { readSupplement } from "./threads/Supplement.ts"
export { Threads } from "./threads/Threads.ts"

/** runs: the work on one message, its states, and the port that protects them. */
export { Run, RunNotFound } from "./runs/Run.ts"

export { Inbox, TooManyFollowers } from "./runs/Inbox.ts"
export { FollowUp, FollowUpNotFound } from "./runs/FollowUp.ts"
export { FollowUps, FollowUpSettings } from "./runs/FollowUps.ts"
export { FollowUpFailed } from "./runs/FollowUpWorker.ts"

/** assistants: agents configured once. */
export { Assistant, AssistantNotFound, EmbeddingModelFixed } from "./assistants/Assistant.ts"
export { Assistants, DefaultEmbedding } from "./assistants/Assistants.ts"

/** owners: what concerns everything of an owner. */
export { ErasureNotFound, type ErasureReport, Erasures } from "./owners/Erasures.ts"

/** turns: how a message becomes an answer. */
export { type Citation, type Citations, citationsIn } from "./turns/Citations.ts"
export type { TurnPart } from "./turns/TurnPart.ts"
export { TurnParts } from "./turns/TurnParts.ts"
export { type RunReport, Turns } from "./turns/TurnUseCases.ts"
export {
  Conversations,
  type ForkRequest,
  type ImportRequest,
  type RewindRequest,
  type Rewound
} from "./turns/Conversations.ts"
export { type ImportedMessage, ImportRefused } from "./turns/Import.ts"
export type { StartedTurn } from "./turns/StartedTurn.ts"
export type { WaitingCall } from "./turns/WaitingCalls.ts"
export type { DecisionsRequest, ToolOutputsRequest, TurnRequest } from "./turns/TurnRequest.ts"
export { isTerminal, type TurnEvent } from "./turns/TurnEvent.ts"
export type { TurnReply } from "./turns/TurnReply.ts"
export { IdempotencyConflict } from "./runs/AnsweredBefore.ts"
export { Explanation } from "./prompts/Explanation.ts"
export { PromptPart } from "./prompts/PromptPart.ts"
export { ContextTooLong } from "./prompts/ContextTooLong.ts"
export { defaultTurnSettings, TurnSettings } from "./turns/TurnSettings.ts"
export {
  EmptyMessage,
  FirstAnswerGone,
  MessageNotFound,
  MessageNotSendable,
  NothingPending,
  ShuttingDown,
  ThreadBusy,
  ThreadChanged,
  ToolNameTaken,
  TurnRefused
} from "./turns/TurnErrors.ts"

/**
 * The public API of Colloquy's kernel, room by room. `ARCHITECTURE.md` tells what each room is for.
 */

/** The kernel: every use case as one layer over the ports. */
export * as Kernel from "./Kernel.ts"
export type { Ports, Stores } from "./Kernel.ts"

/** primitives: ids, pages, usage, and the one infrastructure fault. */
export {
  AssistantId,
  BlobId,
  DocumentId,
  FollowUpId,
  IdSource,
  KeyId,
  MessageId,
  newId,
  OwnerId,
  RunId,
  ThreadId
} from "./primitives/Ids.ts"
export { firstPage, maximumLimit, maximumSkip, Page } from "./primitives/Page.ts"
export { addUsage, noUsage, totalTokens, Usage } from "./primitives/Usage.ts"
export { StoreUnavailable } from "./primitives/StoreUnavailable.ts"
export { ContentRefused, contentRefused } from "./primitives/ContentRefused.ts"

/** access: who asks, and the keys that say so. */
export { Principal } from "./access/Principal.ts"
export { InvalidKey, KeyNotFound, KeyRecord, Keys, KeyStore, type KeySummary, lookupLength } from "./access/Keys.ts"
export { ProviderKeys, type ProviderKeysPort } from "./access/ProviderKeys.ts"
export { type Rate, RateLimiter } from "./access/RateLimiter.ts"

/** metering: what a turn may cost, and what it did cost. */
export { Charge, chargeOfCost, costOf } from "./metering/Charge.ts"
export {
  type CreditNeed,
  InsufficientCredit,
  Metering,
  type MeteringPort,
  type UsageReport
} from "./metering/Metering.ts"
export { UsageLedger, type UsageOfDay } from "./metering/UsageLedger.ts"
export { Billing } from "./metering/Billing.ts"

/** tools: what a model may call, and who runs it. */
export { ToolDefinition, ToolList, ToolName } from "./tools/ToolDefinition.ts"
export { ToolCall, ToolOutput, ToolResult } from "./tools/ToolCall.ts"
export { matchToolOutputs, ToolOutputProblem, ToolOutputsRejected } from "./tools/ToolRoundTrip.ts"
export type { LiveTurn, PartEvent } from "./tools/LiveTurn.ts"
export { type HostedCall, type HostedTool, HostedToolFailed, HostedTools, type OfferedIn } from "./tools/HostedTool.ts"

/** models: what a provider implements, and how it is registered. */
export type {
  AnswerDriver,
  AnswerMethod,
  AnswerReply,
  AnswerRequest,
  Instructions,
  TypedQuestion,
  TypedQuestions
} from "./models/AnswerDriver.ts"
export type { ChatDriver } from "./models/ChatDriver.ts"
export type { ChatEvent, FinishReason } from "./models/ChatEvent.ts"
export { type ChatPolicy, converse, defaultChatPolicy, type Listener } from "./models/ChatModel.ts"
export {
  type ChatMessage,
  type ChatRequest,
  type ContentPart,
  ProviderData,
  Routing,
  Thinking
} from "./models/ChatRequest.ts"
export { EmbeddingFailed, EmbeddingModel, type EmbeddingTarget } from "./models/EmbeddingModel.ts"
export type { EmbeddingAnswer, EmbeddingDriver, EmbeddingRequest } from "./models/EmbeddingDriver.ts"
export { ModelError, ModelErrorReason } from "./models/ModelError.ts"
export { describeModel, mergeModelInfo, ModelInfo, ModelType } from "./models/ModelInfo.ts"
export type {
  NextTokenDriver,
  NextTokenReply,
  NextTokenRequest,
  TokenCandidate,
  TokenPlace
} from "./models/NextTokenDriver.ts"
export {
  type Provider,
  ModelNotNamed,
  ProviderNotFound,
  Providers,
  type ProvidersOptions,
  type ResolvedModel
} from "./models/Provider.ts"
export type { Upstream, UpstreamOffer } from "./models/Upstream.ts"
export { estimateTokens, TokenCounter, type TokenCounterPort } from "./models/TokenCounter.ts"

/** catalog: which models there are. */
export {
  Catalog,
  type CatalogEntry,
  type CatalogFilter,
  HostModels,
  ModelNotFound,
  type RoutedUpstream
} from "./catalog/Catalog.ts"

/** threads: conversations and their messages. */
export { Metadata, Thread, ThreadNotFound } from "./threads/Thread.ts"
export { type History, Message, MessageStatus, NewMessage, Step, Supplements } from "./threads/Message.ts"
export { type Supplement, supplementOf, supplementsOf } from "./threads/Supplement.ts"
export { ThreadStore } from "./threads/ThreadStore.ts"
export { type ThreadListing, Threads, type ThreadWithMessages } from "./threads/Threads.ts"

/** runs: the work on one message, its states, and the port that protects them. */
export { canMove, isAtRest, isEnded, Run, RunFault, RunNotFound, RunStatus, transitions } from "./runs/Run.ts"
export {
  type ActivateOutcome,
  type Appended,
  type Begin,
  type BeginOutcome,
  type Continue,
  type ContinueOutcome,
  type IdempotencyKey,
  type Lease,
  type LogBatch,
  type LogEvent,
  type NewRun,
  type Repeated,
  type RunSignal,
  RunStore,
  type Settled,
  type Settlement,
  type Started
} from "./runs/RunStore.ts"

export { FollowUp, FollowUpNotFound, FollowUpStatus, type NewFollowUp } from "./runs/FollowUp.ts"
export { type FailedAttempt, type FollowUpClaim, FollowUpStore } from "./runs/FollowUpStore.ts"
export { FollowUpFailed, FollowUps, FollowUpSettings, type FollowUpWorker } from "./runs/FollowUps.ts"

/** assistants: agents configured once. */
export {
  Assistant,
  AssistantName,
  AssistantNameFilter,
  AssistantNotFound,
  type AssistantPatch,
  EmbeddingModelFixed
} from "./assistants/Assistant.ts"
export { AssistantStore } from "./assistants/AssistantStore.ts"
export {
  Assistants,
  type AssistantUpdate,
  type CloneRequest,
  DefaultEmbedding,
  type NewAssistant
} from "./assistants/Assistants.ts"

/** turns: how a message becomes an answer. */
export type {
  FollowUpOrder,
  Heard,
  Listening,
  PartAnswer,
  PartDecision,
  SavedMessage,
  SettledLeg,
  TurnCase,
  TurnPart
} from "./turns/TurnPart.ts"
export { TurnParts } from "./turns/TurnParts.ts"
export { type RunReport, type StartError, Turns } from "./turns/Turns.ts"
export type { StartedTurn } from "./turns/StartedTurn.ts"
export type { SubmitError } from "./turns/ToolOutputs.ts"
export type { BusyPolicy, ToolOutputsRequest, TurnRequest } from "./turns/TurnRequest.ts"
export type { ContextUsage } from "./prompts/Explanation.ts"
export { isTerminal, type TerminalEvent, type TurnEvent } from "./turns/TurnEvent.ts"
export { foldReply, type ReplyPlace, type TurnReply } from "./turns/TurnReply.ts"
export { IgnoredOption, TurnPlan } from "./turns/TurnPlan.ts"
export { Explanation } from "./prompts/Explanation.ts"
export { PromptPart } from "./prompts/PromptPart.ts"
export { ContextTooLong } from "./prompts/ContextTooLong.ts"
export { defaultTurnSettings, TurnSettings } from "./turns/TurnSettings.ts"
export {
  EmptyMessage,
  IdempotencyConflict,
  NothingPending,
  ShuttingDown,
  ThreadBusy,
  ToolNameTaken,
  TurnRefused
} from "./turns/TurnErrors.ts"

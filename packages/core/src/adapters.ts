/**
 * The names that authors of stores, providers and rooms need besides the main entry: ports with their records, drivers, decisions, folds. A
 * host that only uses Colloquy needs none of them.
 */

/** The kernel: what a storage adapter provides, and what a host must provide. */
export type { Ports, Stores } from "./Kernel.ts"

/** primitives: ids, pages, usage, and the one infrastructure fault. */
export {
  AuditEntryId,
  BlobId,
  ChargeId,
  DocumentId,
  ErasureId,
  FollowUpId,
  IdSource,
  newId,
  CaseId,
  ExperimentId,
  ScheduleId,
  WebhookId,
  DeliveryId
} from "./primitives/Ids.ts"
export { callbackLimitedTo, Deadlines, limitedTo } from "./primitives/Deadlines.ts"
export { pullStream } from "./primitives/PullStream.ts"
export { type DeepPartial, readSettings, type SettingRules, SettingsUnusable } from "./primitives/Settings.ts"
export { readConfig, type WingLayers } from "./primitives/WingLayer.ts"
export { runYielding } from "./primitives/RunYielding.ts"
export { runSteps, type Steps } from "./primitives/Steps.ts"
export { RecentlyUsed } from "./primitives/RecentlyUsed.ts"
export { TransientMap, TransientSet } from "./primitives/Transient.ts"
export { traced } from "./primitives/Traced.ts"
export { spanContent } from "./models/ChatContent.ts"
export type { ChatRecording } from "./models/SpanContent.ts"
export { firstPage, maximumLimit, maximumSkip } from "./primitives/Page.ts"
export { UnderWay, type UnderWayPort } from "./primitives/UnderWay.ts"
export { addUsage, isSameUsage, noUsage, totalTokens } from "./primitives/Usage.ts"
export { ContentRefused, contentRefused } from "./primitives/ContentRefused.ts"

/** access: principals, and the keys that prove who is asking. */
export { actorName, callerNow } from "./access/Principal.ts"
export { allows } from "./access/KeyScope.ts"
export { type KeyGrant, KeyRecord, KeyStore, type KeySummary, lookupLength } from "./access/Keys.ts"
export { AuditEntry, type AuditPage, AuditStore, type AuditStorePort } from "./access/AuditLog.ts"
export {
  type Authentication,
  type AuthenticationSettings,
  defaultAuthentication,
  makeAuthentication,
  rateLimiter,
  TooManyFailedKeys
} from "./access/Authentication.ts"
export { isFromOtherSite } from "./access/CrossSite.ts"
export type { Authenticate, ClientAddress, HostCredentials, ScopedOwner } from "./access/HostCredentials.ts"
export { type FairQueue, makeFairQueue } from "./access/FairQueue.ts"
export { type FairLimits, type FairTurns, makeFairTurns } from "./access/FairTurns.ts"
export type { ProviderKeysPort } from "./access/ProviderKeys.ts"
export type { Rate } from "./access/RateLimiter.ts"

/** metering: credit before a turn, and charges after it. */
export { chargeOfCost, totalCost } from "./metering/Charge.ts"
export { type BeginCharge, type EndCharge, noCharge, paid, type PaidCall, type Payee } from "./metering/PaidCall.ts"
export type { ChargeReport, CreditNeed, UsageReport } from "./metering/Metering.ts"
export {
  type AdmissionRequest,
  type Amount,
  assumedFor,
  type BudgetRequest,
  countedCost,
  grantBudget,
  reservationWait
} from "./metering/Budget.ts"
export { type LimitName, overLimit, type Refusal, type RefusedByLimit, type StorageLimits } from "./metering/Quota.ts"
export { QuotaStore, type TakenRequests, type UsedOfQuota, type UsedRate } from "./metering/QuotaStore.ts"
export { UsageLedger, type UsageOfDay } from "./metering/UsageLedger.ts"

/** tools: what a model may call, and what runs it. */
export { isJsonObject } from "./tools/SchemaRun.ts"
export { ToolList, ToolName } from "./tools/ToolDefinition.ts"
export { argumentCheck } from "./tools/ArgumentCheck.ts"
export { Decision, OpenCall, type Question, ToolResult } from "./tools/ToolCall.ts"
export { type CallDecision, DecisionProblem, matchToolOutputs, ToolOutputProblem } from "./tools/ToolRoundTrip.ts"
export type { PartEvent, Rewriting, TextWithheld } from "./tools/LiveTurn.ts"
export type { HostedCall, OfferedIn } from "./tools/HostedTool.ts"

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
  type OutputForm,
  ProviderData,
  Routing,
  Thinking
} from "./models/ChatRequest.ts"
export { EmbeddingFailed, EmbeddingModel, type EmbeddingTarget } from "./models/EmbeddingModel.ts"
export {
  type ImageReply,
  type ImageModel,
  ImageOptions,
  type ImageRequest,
  type InputImage
} from "./models/ImageModel.ts"
export type { EmbeddingReply, EmbeddingDriver, EmbeddingRequest } from "./models/EmbeddingDriver.ts"
export { isRefusedRequest, ModelError, ModelErrorReason, reasonOfStatus } from "./models/ModelError.ts"
export { operatorDetail, errorSentence } from "./models/OperatorDetail.ts"
export { ModelOptions, type Sampling, ToolChoice } from "./models/ModelOptions.ts"
export { describeModel, mergeModelInfo, ModelType } from "./models/ModelInfo.ts"
export type {
  NextTokenDriver,
  NextTokenReply,
  NextTokenRequest,
  TokenCandidate,
  TokenPosition
} from "./models/NextTokenDriver.ts"
export { type ProvidersOptions, type ResolvedModel, usualDimensions } from "./models/Provider.ts"
export type { Upstream, UpstreamOffer } from "./models/Upstream.ts"
export {
  mayHaveBeenOrdered,
  type Picture,
  type VideoAccount,
  type VideoJob,
  VideoJobStatus,
  type VideoModel,
  VideoOptions,
  type VideoOrder,
  type VideoReference
} from "./models/VideoModel.ts"
export { estimateTokens } from "./models/EstimateTokens.ts"
export type { TokenCounterPort } from "./models/TokenCounter.ts"

/** catalog: the models that exist. */
export type { CatalogEntry, CatalogFilter, RoutedUpstream } from "./catalog/Catalog.ts"

/** threads: conversations and their messages. */
export { Metadata } from "./threads/Thread.ts"
export {
  AnsweringAssistant,
  type History,
  MessageStatus,
  NewMessage,
  RunFault,
  Step,
  StopReason,
  Supplements
} from "./threads/Message.ts"
export { isPlain, usualStop, type ListedMessage, type PlainMessage } from "./threads/ListedMessage.ts"
export { type Supplement, makeSupplements } from "./threads/Supplement.ts"
export { type Copier, Copies } from "./assistants/Copies.ts"
export { type KeptTexts, RecalledTexts, type ShownByPart, type TextsShown } from "./threads/RecalledTexts.ts"
export { Removals, type RemovalWatcher, type RemovedRecord } from "./threads/Removals.ts"
export { ThreadInSession } from "./threads/Thread.ts"
export { ThreadStore } from "./threads/ThreadStore.ts"
export { ThreadSummary } from "./threads/ThreadSummary.ts"
export type { ListedThread, ThreadListing, ThreadWithMessages } from "./threads/Threads.ts"

/** runs: the work on one message, its states, and the port that protects them. */
export type { OwnerEvents } from "./runs/OwnerEvents.ts"
export { canMove, isAtRest, isEnded, RunStatus, transitions } from "./runs/Run.ts"
export type { Appended, Lease, LogBatch, LogEvent, RunSignal } from "./runs/LogRecords.ts"
export type { FoundRepeat, IdempotencyKey, Repeated } from "./runs/Idempotency.ts"
export {
  type ActivateOutcome,
  type Begin,
  type BeginOutcome,
  type CallAnswers,
  type CallAnswersOutcome,
  type ApprovedResults,
  type Continue,
  type ContinueOutcome,
  type NewRun,
  RunStore,
  type Settled,
  type Settlement,
  type Started
} from "./runs/RunStore.ts"

export type {
  Answered,
  AnsweredOnce,
  Branches,
  BranchOutcome,
  Cut,
  CutRefused,
  ForkThread,
  ImportThread,
  Located,
  RewindThread,
  TakeBack
} from "./runs/Branches.ts"
export {
  type InboxFilter,
  type InboxPage,
  type RunPosition,
  InboxStore,
  longestPreview,
  type RunChange,
  type RunSummary
} from "./runs/InboxStore.ts"
export { summaryRecord } from "./runs/SummaryRecord.ts"
export { InboxSettings, type RunSummaries } from "./runs/Inbox.ts"
export { type FollowUpOrder, FollowUpStatus, type NewFollowUp } from "./runs/FollowUp.ts"
export {
  type ClaimLane,
  type ClaimRules,
  type FailedAttempt,
  type FollowUpClaim,
  FollowUpStore
} from "./runs/FollowUpStore.ts"
export { type FollowUpWorker, type LostWork, typedWorker } from "./runs/FollowUpWorker.ts"

/** owners: everything of an owner. */
export { Erasure, OwnerStore } from "./owners/OwnerStore.ts"

/** Voice: the drivers of speech models, and sound as plain samples. */
export type {
  ListeningRequest,
  Recording,
  SpeechToText,
  Transcript,
  TranscriptEvent,
  TranscriptionRequest
} from "./models/SpeechToText.ts"
export type { SpeechFormat, SpeechRequest, TextToSpeech } from "./models/TextToSpeech.ts"
export {
  joinBytes,
  makeResampler,
  makeWholeSamples,
  type PcmFormat,
  pcmBytesPerSecond,
  readWavHead,
  type WavHead,
  wavHeader
} from "./primitives/Pcm.ts"

/** assistants: agents configured once. */
export {
  AssistantChanged,
  AssistantInSession,
  AssistantName,
  AssistantNameFilter,
  type AssistantPatch,
  AssistantVersionNotFound,
  AssistantVersionUnknown,
  ColleagueNotFound,
  Version
} from "./assistants/Assistant.ts"
export { Colleague, handoffName, handoffPrefix, helperName, mostColleagues } from "./assistants/Colleague.ts"
export {
  type AssistantChange,
  type AssistantStored,
  AssistantStore,
  type ThreadInContext,
  type VersionPage
} from "./assistants/AssistantStore.ts"
export type {
  AssistantUpdate,
  ClonedAssistant,
  CloneRequest,
  NewAssistant,
  VersionList
} from "./assistants/Assistants.ts"
export {
  assistantDiff,
  type AssistantVersion,
  type FieldChange,
  type VersionedAssistant,
  type VersionedField,
  type VersionedFields,
  pickVersionedFields
} from "./assistants/AssistantVersions.ts"

/** turns: how a message becomes an answer. */
export type { ReviewedPiece, Review, Verdict } from "./turns/Review.ts"
export type { Rewrite, TextSource } from "./turns/Rewrite.ts"
export type {
  Heard,
  Listening,
  PartAnswer,
  PartDecision,
  SavedMessage,
  SettledLeg,
  TurnCase
} from "./turns/TurnPart.ts"
export type { StartError } from "./turns/TurnUseCases.ts"
export type { SubmitError } from "./turns/ToolOutputs.ts"
export type { BusyPolicy } from "./turns/TurnRequest.ts"
export type { ContextUsage } from "./prompts/Explanation.ts"
export type { TerminalEvent } from "./turns/TurnEvent.ts"
export { foldReply, type ReplyIds } from "./turns/TurnReply.ts"
export { IgnoredOption } from "./turns/IgnoredOption.ts"
export { TurnPlan } from "./turns/TurnPlan.ts"

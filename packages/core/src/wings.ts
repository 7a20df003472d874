/**
 * The names of the wings that code outside of them needs: ports and records for stores; use cases as services, and options of messages, for
 * transports. The code that does the work is not here: a host imports it from the sub-path of the wing, and a process without the wing does
 * not load it. Every name here is also exported by that sub-path.
 */

/** Servers of tools at which each owner has an account, and the store of encrypted secrets. */
export { SealedSecretStore } from "./access/SealedSecretStore.ts"
export {
  type AccessCallback,
  accessRequired,
  KeptAccess,
  type ServerAccess,
  ToolAccess,
  ToolAccessFailed,
  toolAccessPartName,
  ToolServerNotFound
} from "./tools/ToolAccess.ts"

/** retrieval: the index of chunks, and how a store ranks them. */
export { type Chunk, ownText } from "./retrieval/Chunk.ts"
export {
  type ChunkHit,
  ChunkIndex,
  type ChunkSearch,
  type ChunkWithoutVector,
  type IndexedChunk,
  type IndexedDocument,
  type IndexKey,
  type NewVectors,
  scopeOfMemories,
  SearchScope,
  type VectorModel
} from "./retrieval/ChunkIndex.ts"
export type { Impacts } from "./retrieval/Impacts.ts"
export type { Language } from "./retrieval/Language.ts"
export { candidates, joinRanks, type Ranks, termRarity, scoreUnit, semanticShare } from "./retrieval/Ranking.ts"
export type { SectionPosition } from "./retrieval/Section.ts"

/** documents: files, their bytes and their records. */
export { BlobNotFound, BlobStore, type ByteRange, type StoredBytes } from "./documents/BlobStore.ts"
export { Document, DocumentScope, DocumentStatus } from "./documents/Document.ts"
export { type DocumentAddresses, DocumentLinks } from "./documents/DocumentLinks.ts"
export { type DocumentScopeId, Documents, type FoundExcerpt } from "./documents/Documents.ts"
export {
  type Attempt,
  type AttemptStarted,
  type DocumentFilter,
  type DocumentListing,
  DocumentStore,
  type DocumentSurvey,
  type IndexingOutcome,
  type Progress,
  type AddressedDocument,
  type OwnedDocument
} from "./documents/DocumentStore.ts"
export { documentsPartName } from "./documents/DocumentWork.ts"
export { ExcerptOptions } from "./documents/ExcerptOptions.ts"
export { acceptedExtensions, readExtension, FileTypeUnsupported } from "./documents/FileType.ts"
export { retrievedIn, type RetrievedExcerpt } from "./documents/KeptDocuments.ts"
export { type FilesNotReady, makeStartWithFiles, type StartWithFiles } from "./documents/MessageFiles.ts"
export type { ReceivedFile } from "./documents/ReceivedFile.ts"
export type { FileRefused } from "./documents/Upload.ts"

/** memory: the facts that an assistant remembers. */
export { readKept } from "./memory/KeptMemories.ts"
export { readDate } from "./memory/MemoryDates.ts"
export { Memories, type MemoryOperation } from "./memory/Memories.ts"
export type { MemoryLinesUnusable } from "./memory/MemoryLines.ts"
export {
  longestMemory,
  longestName,
  MemoryId,
  memoryKey,
  MemoryRecord,
  MemorySource,
  type MemoryUnusable,
  type MemoryVersion,
  mostConfirmations
} from "./memory/MemoryRecord.ts"
export {
  type AppliedRun,
  type IndexedMemory,
  type LearnedRun,
  type MemoryChange,
  type MemoryChanges,
  type MemoryHit,
  type MemoryListing,
  type MemoryOutcome,
  type MemorySearch,
  MemoryStore,
  type MemoryTerms,
  type RemovedMemories,
  type ReweighedMemory,
  type SessionPosition
} from "./memory/MemoryStore.ts"

/** answers: typed questions, and the outcomes that were reported later. */
export { Answer, TypedAnswers } from "./answers/Answer.ts"
export { Answers, type AnswersReport, type TurnOutcome } from "./answers/Answers.ts"
export { checkTypedAsk } from "./answers/CheckQuestions.ts"
export type { QuestionReport } from "./answers/Judgement.ts"
export { Outcome, type OutcomeRefused } from "./answers/Outcome.ts"
export { OutcomeStore } from "./answers/OutcomeStore.ts"

/** citations: what an answer cites. */
export { type Citation, type Citations, citationsIn, citationsName } from "./turns/Citations.ts"

/** outputs: what is kept with an answer that is one JSON value. */
export { KeptOutput, outputIn, outputsPartName } from "./turns/WantedOutput.ts"

/** media and web search: the supplements that they keep with an answer. */
export { type GeneratedMedia, mediaGenerated, mediaIn, readMedium } from "./media/GeneratedMedia.ts"
export { sourcesIn } from "./web-search/Sources.ts"

/** voice: recordings before a message, and the supplements of speech. */
export { Recordings } from "./voice/Recordings.ts"
export { checkVoice, type Recorded } from "./voice/VoiceOptions.ts"
export { KeptHeard, KeptSpoken, voiceEvents } from "./voice/VoiceRecord.ts"

/** realtime: voice sessions. */
export type { AudioFormat } from "./realtime/Frames.ts"
export { RealtimeCapabilities, VoicePrices } from "./realtime/RealtimeModel.ts"
export {
  type OpenOutcome,
  SessionCharge,
  type SessionLease,
  SessionStore,
  type SessionWrite
} from "./realtime/SessionStore.ts"
export { TicketRecord, Tickets, TicketStore, TooManyTickets } from "./realtime/Tickets.ts"

/** inspection: what happened inside a run. */
export type { Inspection, RunStep } from "./inspection/Inspection.ts"
export { Inspections } from "./inspection/Inspections.ts"

/** schedules: messages that are sent at the times of a cron expression. */
export { type LastTime, Schedule, type ScheduleRefused, type TooManySchedules } from "./schedules/Schedule.ts"
export { type NewSchedule, Schedules, type ScheduleWithTimes } from "./schedules/Schedules.ts"
export { scheduleRecord } from "./schedules/ScheduleRecord.ts"
export { ScheduleStore, type ScheduleStored } from "./schedules/ScheduleStore.ts"

/** webhooks: events of an owner, sent to addresses of the owner. */
export {
  Delivery,
  DeliveryStatus,
  Webhook,
  WebhookEvent,
  type SecretUnreadable,
  type TooManyWebhooks,
  type WebhookRefused
} from "./webhooks/Webhook.ts"
export { type NewWebhook, Webhooks, type WebhookWithSecret } from "./webhooks/Webhooks.ts"
export { type WebhookChange, WebhookStore } from "./webhooks/WebhookStore.ts"

/** evals: cases of real turns, and what is expected of their answers. */
export { askedFields, askedFromFields, fieldsFromAsked } from "./evals/AskedParts.ts"
export {
  CaseName,
  CaseQuestion,
  type CaseRefused,
  CaseTags,
  EvalCase,
  type NewCase,
  RecordedTool,
  type TooManyCases
} from "./evals/Case.ts"
export {
  attemptsIn,
  Experiment,
  type ExperimentRefused,
  ExperimentResult,
  type ExperimentState,
  type NewExperiment,
  type TooManyExperiments
} from "./evals/Experiment.ts"
export { comparisonRecord, resultRecord, variantRecord } from "./evals/Reports.ts"
export { Score } from "./evals/Score.ts"
export { Evals } from "./evals/Evals.ts"
export { Feedback, FeedbackComment, type FeedbackRefused, FeedbackScore } from "./evals/Feedback.ts"
export { EvalStore, type EvalStored, type OnlinePage } from "./evals/EvalStore.ts"
export type { JudgeOutcome, OnlineReport, ScoredAnswerIds, ScorePosition } from "./evals/Evals.ts"
export type { JudgeCalibration } from "./evals/Calibrations.ts"
export { OnlineScore, OnlineSettings, type RatedScore } from "./evals/OnlineScore.ts"
export type { OnlineGroup } from "./evals/OnlineSummary.ts"
export { Expectation, Expectations } from "./evals/Expectation.ts"

/** retention: the kinds of records that may be deleted by age. */
export { type Prunable, RetentionStore } from "./retention/RetentionStore.ts"

/** helpers: assistants that an assistant asks. */
export { childrenIn as helperRunsIn, type ChildRun as HelperRun } from "./turns/ChildRuns.ts"

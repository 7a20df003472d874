/** The records of the public API as the studio reads them. Types only: no code of the service is loaded by the browser. */
import type { Client, ModelRecords, Records } from "@colloquy/http"

type Answer<Call extends (...given: never) => Promise<unknown>> = Awaited<ReturnType<Call>>

export type Assistant = Records.Assistant
export type Thread = Records.Thread
export type StoredMessage = Records.StoredMessage
export type MessageResponse = Records.MessageResponse
export type Run = Records.Run
export type RunSummary = Answer<Client.Client["runs"]["all"]>["runs"][number]
/** Deltas have no ids on the wire; `readEvents` of the client gives them those of the events before them. */
export type StreamEvent = Client.ClientEvent
export type Model = ModelRecords.Model
export type Capabilities = Answer<Client.Client["capabilities"]>
export type RunInspection = Answer<Client.Client["runs"]["inspect"]>
export type Memory = Answer<Client.Client["memories"]["get"]>
export type MemoryOperation = Answer<Client.Client["memories"]["operation"]>
export type RealtimeTicket = Answer<Client.Client["realtime"]["issueTicket"]>
export type RunStep = RunInspection["steps"][number]
export type SystemOne = NonNullable<StoredMessage["system_one"]>
export type TypedAnswer = SystemOne["answers"][string]
export type Tool = NonNullable<Assistant["tools"]>[number]
export type ToolCall = NonNullable<StoredMessage["tool_calls"]>[number]
export type Attachment = NonNullable<StoredMessage["attachments"]>[number]
export type Excerpt = NonNullable<StoredMessage["retrieved"]>[number]
export type GeneratedMedia = NonNullable<StoredMessage["generated_media"]>[number]
export type RetrievedMemory = NonNullable<MessageResponse["retrieved_memories"]>[number]

export type VersionEntry = Answer<Client.Client["assistants"]["versions"]>["versions"][number]
export type AssistantVersion = Answer<Client.Client["assistants"]["version"]>
export type DocumentExcerpt = Answer<Client.Client["documents"]["search"]>["excerpts"][number]

/** A message that is sent again and again. */
export interface Schedule {
  readonly schedule_id: string
  readonly assistant_id: string
  readonly cron: string
  readonly timezone: string
  readonly content: string
  readonly thread: "new" | { readonly thread_id: string }
  readonly paused: boolean
  readonly on_missed: "once" | "skip"
  /** The next five times; none while it is paused. */
  readonly next: ReadonlyArray<string>
  readonly last: { readonly time: string; readonly run_id: string | null; readonly error: string | null } | null
}

/** An address to which events are sent. */
export interface Webhook {
  readonly webhook_id: string
  readonly url: string
  readonly events: ReadonlyArray<string>
  readonly description: string | null
  readonly include_content: boolean
  readonly created_at: string
}

/** An event that was sent to a webhook, or will be sent. */
export interface Delivery {
  readonly delivery_id: string
  readonly type: string
  readonly status: string
  readonly attempts: number
  readonly last_status: number | null
  readonly error: string | null
  readonly created_at: string
}

/** An expectation of a case about an answer, by its `kind`. */
export type Expectation = JsonRecord & { readonly kind: string }

/** A conversation up to a question, with expectations of the answer. */
export interface EvalCase {
  readonly case_id: string
  readonly name: string | null
  readonly assistant_id: string | null
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content: string | null }>
  readonly question: string
  readonly expectations: ReadonlyArray<Expectation>
  readonly tags: ReadonlyArray<string>
  readonly tools: ReadonlyArray<{ readonly name: string }>
  /** Null: the case was written by hand. */
  readonly source: { readonly thread_id: string; readonly message_id: string } | null
  readonly created_at: string
}

export interface Variant {
  readonly name: string
  readonly assistant_id?: string
  readonly assistant_version?: number
  readonly llm_provider?: string
  readonly model_name?: string
  readonly model_options?: JsonRecord
  readonly instructions?: string
  readonly retrieval?: JsonRecord
}

export interface Experiment {
  readonly experiment_id: string
  readonly name: string | null
  readonly status: "running" | "completed" | "stopped" | "cancelled"
  readonly reason: string | null
  readonly cases: number
  readonly variants: ReadonlyArray<Variant>
  readonly repeats: number
  readonly tools: "recorded" | "live"
  readonly budget_usd: number | null
  readonly attempts: { readonly total: number; readonly done: number }
  readonly cost_usd: number
  readonly created_at: string
  readonly ended_at: string | null
}

/** Other scorers may tell anything. */
interface JudgeDetail {
  readonly answers?: { readonly judge?: TypedAnswer }
}

/** One attempt at a case. */
export interface AttemptResult {
  readonly number: number
  readonly case_id: string
  readonly name: string
  readonly variant: string
  readonly repeat: number
  readonly passed: boolean
  readonly scores: ReadonlyArray<{
    readonly scorer: string
    readonly expected: string
    readonly value: number
    readonly passed: boolean
    readonly reason: string
    /** The question and the answer of a judge. */
    readonly detail?: JudgeDetail
  }>
  readonly error: string | null
  readonly content: string
  readonly tool_calls: ReadonlyArray<{
    readonly name: string
    readonly arguments: string
    readonly result: string | null
  }>
  readonly model_name: string | null
  readonly cost_usd: number | null
  readonly ms: number
  readonly tokens: number
}

export interface Interval {
  readonly low: number
  readonly high: number
}

export interface VariantSummary {
  readonly variant: string
  readonly cases: number
  readonly attempts: number
  readonly passed: number
  readonly pass_rate: number
  readonly interval: Interval
  readonly score: number | null
  readonly cost_usd: number | null
  readonly median_ms: number
  readonly slow_ms: number
}

type Difference = { readonly mean: number; readonly interval: Interval } | null

export interface Comparison {
  readonly before: string
  readonly after: string
  readonly judgement: string
  readonly words: string
  readonly probability: number
  readonly pass_rate: Difference
  readonly score: Difference
  readonly cost_usd: Difference
  readonly ms: Difference
}

/** The feedback of a user on an answer. */
export interface Feedback {
  readonly thread_id: string
  readonly message_id: string
  readonly assistant_id: string
  readonly assistant_version: number | null
  readonly model_name: string | null
  readonly score: number
  readonly comment: string | null
  readonly tags: ReadonlyArray<string>
  readonly created_at: string
}

/** How often answers of each probability came true. */
export interface Calibration {
  readonly cases: number
  readonly brier_score: number
  readonly calibration_error: number
  readonly reliability: ReadonlyArray<{
    readonly from: number
    readonly to: number
    readonly cases: number
    readonly predicted: number | null
    readonly observed: number | null
    readonly interval: Interval | null
  }>
}

/** How good the typed answers to one question were. */
export interface QuestionReport extends Calibration {
  readonly question: string
  readonly type: string
  readonly accuracy: number
  readonly accuracy_interval: Interval
}

/** A model that judges answers, compared with the feedback of users and with the outcomes that persons told. */
export interface Judge {
  readonly expected: string
  readonly question_set: string
  readonly feedback: Calibration | null
  readonly outcomes: Calibration | null
}

/** The turns of one version of an assistant that were scored when they had ended. */
export interface OnlineGroup {
  readonly assistant_id: string
  readonly assistant_version: number | null
  readonly turns: number
  readonly unscored: number
  readonly pass_rate: number | null
  readonly interval: Interval | null
  readonly score: number | null
  readonly cost_usd: number | null
  readonly median_ms: number
}

export interface OnlineReport {
  /** The share of all turns, from 0 to 1. */
  readonly share: number
  readonly expectations: ReadonlyArray<Expectation>
  readonly from: string
  readonly to: string
  readonly days: ReadonlyArray<OnlineGroup & { readonly day: string }>
  readonly versions: ReadonlyArray<OnlineGroup>
  readonly judges: ReadonlyArray<Judge>
  readonly is_partial: boolean
}

/** A file that the service stores. */
export interface DocumentRead {
  readonly document_id: string
  readonly filename: string
  readonly status: "processing" | "completed" | "error"
  /** The progress of the indexing, or why it failed. */
  readonly status_message: string | null
  readonly summary: string | null
  /** The pieces that a search finds, where the status was asked for; 0 until the text is read. */
  readonly chunk_count?: number
  readonly created_at: string
}

/** A web page that an answer cites. */
export interface Source {
  readonly title: string | null
  readonly url: string
}

export type Json = string | number | boolean | null | ReadonlyArray<Json> | JsonRecord
export interface JsonRecord {
  readonly [name: string]: Json
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

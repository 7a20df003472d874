/** The records of the public API as the studio reads them. Types only: no code of the service is loaded by the browser. */
import type { Client, ModelRecords, Records } from "@colloquy/http"

type Answer<Call extends (...given: never) => Promise<unknown>> = Awaited<ReturnType<Call>>

export type Assistant = Records.Assistant
export type Thread = Records.Thread
export type StoredMessage = Records.StoredMessage
export type MessageResponse = Records.MessageResponse
export type Run = Records.Run
export type RunSummary = Answer<Client.Client["runs"]["all"]>["runs"][number]
/** Deltas have no ids on the wire; `eventsOf` gives them those of the events before them. */
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

/** A file that the service stores. */
export interface DocumentRead {
  readonly document_id: string
  readonly filename: string
  readonly status: "processing" | "completed" | "error"
  /** The progress of the indexing, or why it failed. */
  readonly status_message: string | null
  readonly summary: string | null
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

/**
 * Builders of valid records, for the contract suites, the tests of adapters and those of the kernel. Ids are new, so that tests can share a
 * database; every field can be given.
 *
 * The events of leg n have the sequences from 10n + 1 to 10n + 9.
 */
import {
  type Assistant,
  AssistantId,
  KeyId,
  MessageId,
  OwnerId,
  Principal,
  RunId,
  type Thread,
  ThreadId,
  type Usage
} from "@colloquy/core"
import {
  type Begin,
  BlobId,
  type CallAnswers,
  type Continue,
  DocumentId,
  type KeyRecord,
  type LogEvent,
  newId,
  type NewMessage,
  type NewRun,
  noUsage,
  type Settlement,
  type ToolResult
} from "@colloquy/core/adapters"
import type { Document, DocumentScope } from "@colloquy/core/wings"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/** A time on a fixed day: this many seconds after noon. */
export const moment = (second: number): Date => new Date(Date.UTC(2026, 0, 31, 12, 0, second))

/** An owner that no other test has. */
export const newOwner: Effect.Effect<OwnerId> = newId(OwnerId)

/** Runs an effect for a new owner. */
export const asNewOwner = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Principal>> =>
  Effect.flatMap(newOwner, (ownerId) => Principal.provide(ownerId)(self))

/** JSON that stores may damage: characters of every plane, deep nesting, empty containers, numbers at the limits. */
export const awkwardJson: Schema.JsonObject = {
  unicode: "Grüße, 你好, שלום, e\u0301, \u2028, \\ \" ' \t\n",
  emoji: "👩‍👩‍👧‍👦🏳️‍🌈",
  "a key with 'quotes', 🔑 and a $": "$1 ?? %s :name",
  "": "the empty key",
  nothing: null,
  empty: {},
  list: [],
  mixed: [1, "1", true, null, [], [[]], {}],
  text: '{"json": "inside a string"}',
  zero: 0,
  numbers: [-1, 1.5, 0.1 + 0.2, 1e-7, 1e21, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
  deep: Array.from({ length: 64 }).reduce<Schema.Json>((inner) => ({ inner: [inner] }), "bottom")
}

/** A megabyte of text that compresses badly. */
export const longText = Array.from({ length: 1 << 17 }, (_, index) =>
  `${(index * 2654435761) % 9999999} `.slice(0, 8)
).join("")

/** An assistant with the given fields. */
export const sampleAssistant = (fields: Partial<Assistant> = {}): Effect.Effect<Assistant> =>
  Effect.map(newId(AssistantId), (id) => ({
    id,
    name: "An assistant",
    description: null,
    systemPrompt: null,
    provider: null,
    model: null,
    tools: null,
    modelOptions: null,
    searchLimit: 10,
    embedding: { provider: null, model: null, dimensions: 1536 },
    factExtractionPrompt: null,
    memoryUpdatePrompt: null,
    metadata: null,
    helpers: [],
    handoffs: [],
    version: 1,
    createdAt: moment(0),
    updatedAt: moment(0),
    ...fields
  }))

/** For tests of a store: a thread with a fixed time and no metadata, which belongs to the assistant that you name. */
export const sampleThread = (assistantId: AssistantId, fields: Partial<Thread> = {}): Effect.Effect<Thread> =>
  Effect.map(newId(ThreadId), (id) => ({
    id,
    assistantId,
    metadata: null,
    assistantVersion: null,
    createdAt: moment(0),
    updatedAt: moment(0),
    ...fields
  }))

/** For tests of a store: the record of `report.pdf` under the assistant or thread that you name. */
export const sampleDocument = (scope: DocumentScope, fields: Partial<Document> = {}): Effect.Effect<Document> =>
  Effect.gen(function* () {
    return {
      id: yield* newId(DocumentId),
      scope,
      filename: "report.pdf",
      extension: "pdf",
      mimeType: "application/pdf",
      blobId: yield* newId(BlobId),
      size: 1234,
      sha256: yield* randomHash,
      status: "processing",
      statusMessage: null,
      summary: null,
      totalTokens: null,
      chunkCount: null,
      metadata: null,
      createdAt: moment(0),
      updatedAt: moment(0),
      processingStartedAt: null,
      processingCompletedAt: null,
      ...fields
    }
  })

/** For tests of a store: the record of a valid key with a name and the scope `admin`. */
export const sampleKey = (ownerId: OwnerId, fields: Partial<KeyRecord> = {}): Effect.Effect<KeyRecord> =>
  Effect.gen(function* () {
    const id = yield* newId(KeyId)
    const hash = yield* randomHash
    const record: KeyRecord = {
      id,
      ownerId,
      name: "A key",
      hash,
      scope: "admin",
      createdAt: moment(0),
      expiresAt: null,
      revokedAt: null
    }
    return { ...record, ...fields }
  })

/** No assistant has this id; a message keeps what it is given. */
const answering = AssistantId.make("0199a5a0-0000-7000-8000-000000000001")

/** A text with the form of a SHA-256 hash and a random beginning. */
const randomHash = Effect.sync(() => {
  const half = () => globalThis.crypto.randomUUID().replaceAll("-", "")
  return half() + half()
})

/** An event of a log with any data. */
export interface SampleEvent extends LogEvent {
  readonly data: Schema.Json
}

/** An event at this position of a log. */
export const sampleEvent = (sequence: number, data: Schema.Json = `event ${sequence}`): SampleEvent => ({
  _tag: "Sample",
  sequence,
  data
})

/** Usage of so many tokens. */
export const sampleUsage = (inputTokens: number, outputTokens: number, costUsd: number | null = null): Usage => ({
  ...noUsage,
  inputTokens,
  outputTokens,
  costUsd
})

/** What is not usual in the beginning of a turn. */
export interface BeginFields extends Partial<Omit<Begin, "run" | "message">> {
  readonly run?: Partial<NewRun>
  readonly message?: Partial<NewMessage>
}

/** A request to start a run with a message of ten tokens. It asks for the whole history, and its lease does not expire during a test. */
export const sampleBegin = (threadId: ThreadId, fields: BeginFields = {}): Effect.Effect<Begin> =>
  Effect.gen(function* () {
    const { message, run, ...rest } = fields
    const runId = yield* newId(RunId)
    const answerId = yield* newId(MessageId)
    const base = yield* sampleMessage("user", threadId, runId)
    return {
      run: {
        id: runId,
        threadId,
        answerId,
        stream: false,
        provider: "sample-provider",
        model: "sample-model",
        plan: {},
        assistantVersion: null,
        scheduleId: null,
        parentRunId: null,
        createdAt: moment(1),
        ...run
      },
      message: { ...base, ...message },
      events: [sampleEvent(1)],
      mode: "enqueue",
      saves: false,
      maxQueued: 100,
      lease: Duration.hours(1),
      historyTokens: 1_000_000,
      idempotency: null,
      decidedOn: null,
      followUps: [],
      admission: null,
      ...rest
    }
  })

const sampleMessage = (role: NewMessage["role"], threadId: ThreadId, runId: RunId): Effect.Effect<NewMessage> =>
  Effect.map(newId(MessageId), (id) => ({
    id,
    threadId,
    runId,
    role,
    content: `Said by the ${role}`,
    status: "COMPLETED",
    fault: null,
    stopReason: role === "assistant" ? "stop" : null,
    toolCalls: [],
    toolResults: [],
    steps: [],
    supplements: null,
    provider: null,
    model: null,
    assistant: role === "assistant" ? { id: answering, version: 3 } : null,
    usage: null,
    metadata: null,
    tokens: 10,
    createdAt: moment(1)
  }))

/** The leg of a run that is active or waits for its client. */
export interface Leg {
  readonly runId: RunId
  readonly threadId: ThreadId
  readonly answerId: MessageId
  readonly leg: number
}

/** If `usage` is given without `charges`, there is one charge for it, as for a plain answer. */
export interface SettlementFields extends Partial<Omit<Settlement, "answer">> {
  readonly answer?: Partial<NewMessage>
}

/** The end of a leg with an answer of ten tokens. The status is COMPLETED if none is given. */
export const sampleSettlement = (leg: Leg, fields: SettlementFields = {}): Effect.Effect<Settlement> =>
  Effect.map(sampleMessage("assistant", leg.threadId, leg.runId), (base) => {
    const { answer, ...rest } = fields
    const status = fields.status ?? "COMPLETED"
    return {
      status,
      events: [sampleEvent(leg.leg * 10 + 9)],
      answer: { ...base, id: leg.answerId, status, ...answer },
      usage: noUsage,
      modelCalls: 1,
      firstTokenAt: moment(2),
      charges: [
        {
          provider: "sample-provider",
          model: fields.model ?? "sample-model",
          purpose: "chat",
          usage: fields.usage ?? noUsage
        }
      ],
      approved: null,
      followUps: [],
      model: "sample-model",
      fault: null,
      explanation: null,
      ...rest
    }
  })

/** For tests of a store: an open call of a tool with arguments as JSON text. */
export const sampleCall = { id: "call_1", name: "look_up", arguments: '{"q": "tea"}' }

/** For tests of a store: what the tool of `sampleCall` returned. */
export const sampleResult: ToolResult = {
  toolCallId: sampleCall.id,
  toolName: sampleCall.name,
  output: "Tea is a drink.",
  hosted: false
}

/** An answer to a call of a leg, of five tokens. */
export const sampleAnswers = (leg: Leg, fields: Partial<CallAnswers> = {}): CallAnswers => ({
  runId: leg.runId,
  messageId: leg.answerId,
  answered: 0,
  results: [sampleResult],
  tokens: 5,
  plan: {},
  idempotency: null,
  ...fields
})

/** Outputs for the calls of a leg, of five tokens. */
export const sampleContinue = (leg: Leg, fields: Partial<Continue> = {}): Effect.Effect<Continue> =>
  Effect.map(newId(MessageId), (answerId) => ({
    ...sampleAnswers(leg),
    answerId,
    stream: false,
    events: [sampleEvent((leg.leg + 1) * 10 + 1)],
    lease: Duration.hours(1),
    historyTokens: 1_000_000,
    admission: null,
    ...fields
  }))

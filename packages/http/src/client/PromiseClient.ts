/**
 * The client for promises: `fetch`, JSON, and event streams for `for await`, with the types of the surface and nothing of the machinery that
 * made them. Calls reject with the classes of `WireErrors`. `Client.connect` makes it.
 */
import type { ModelType } from "@colloquy/core/adapters"
import type {
  AssistantCloneRequest,
  AssistantCreate,
  AssistantUpdate,
  ThreadCreateForAssistant
} from "../endpoints/AssistantsApi.ts"
import type { MessageRequest, StatelessMessageRequest } from "../wire/MessageBody.ts"
import type * as Answers from "../wire/Answers.ts"
import type * as Realtime from "../wire/Realtime.ts"
import type * as Inbox from "../wire/InboxRecords.ts"
import type * as Memories from "../wire/Memories.ts"
import type * as Models from "../wire/ModelRecords.ts"
import type * as Records from "../wire/Records.ts"
import type {
  EditRequest,
  RegenerateRequest,
  ThreadFork,
  ThreadImport,
  ThreadRewind
} from "../endpoints/ConversationsApi.ts"
import type { ApprovalsRequest, SubmitToolOutputsRequest } from "../endpoints/RunsApi.ts"
import type { ThreadUpdate } from "../endpoints/ThreadsApi.ts"
import type { Capabilities } from "../endpoints/ServiceApi.ts"
import type { RunInspection } from "../wire/InspectionRecords.ts"
import type * as Documents from "../wire/DocumentRecords.ts"
import { type FileInput, formBody, formFields, type FormPart } from "./FormBody.ts"
import { readError } from "./ClientErrors.ts"
import { type EventIds, leavable, readEvents, readUpdates } from "./ClientEvents.ts"

/** The address of the API, and the key of the calls. */
export interface ClientOptions {
  /** The address at which the service is mounted. In the same process any origin will do, such as `http://in.process/ai`. */
  readonly baseUrl: string
  readonly apiKey?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Absent: the platform's. In the same process: the web handler. */
  readonly handler?: (request: Request) => Promise<Response>
}

/** How many records to leave out (`skip`) and how many to read (`limit`). */
export interface PageQuery {
  readonly skip?: number
  readonly limit?: number
}

/** Options of every call that runs a model. */
export interface TurnOptions {
  readonly idempotencyKey?: string
}

/** The last argument of `assistants.update` and `assistants.restore`: refuses the change when another caller has changed the assistant meanwhile. */
export interface ChangeOptions {
  /** The change is refused (412) if the assistant has another version. */
  readonly ifVersion?: number
}

/** The last argument of `messages.send` and `messages.stream`: files that go with the message, and an idempotency key. */
export interface MessageOptions extends TurnOptions {
  /** Files that go with the message. */
  readonly files?: ReadonlyArray<FileInput>
}

/** How many records to read, and after which cursor. */
export interface CursorQuery {
  readonly limit?: number
  /** `next_cursor` of the page before. */
  readonly cursor?: string
}

/** Filters of a list of runs. */
export interface RunQuery extends CursorQuery {
  readonly status?: Records.Run["status"]
}

/** Filters of a list of models. */
export interface ModelQuery extends PageQuery {
  readonly provider?: string
  readonly model_type?: ModelType
  readonly supports_tools?: boolean
  readonly min_context?: number
  readonly max_context?: number
}

/** Narrows `runs.all`: one assistant, one thread, or only what was created since an ISO time. */
export interface InboxQuery extends RunQuery {
  readonly assistant_id?: string
  readonly thread_id?: string
  readonly since?: string
}

type Unstreamed<A> = Omit<A, "stream" | "background">

/** The options of a stream. Its request ends with the signal. */
interface Sending extends MessageOptions {
  readonly signal?: AbortSignal
}

interface Call {
  readonly query?: object
  /** Absent or null: no body is sent. */
  readonly body?: object | null
  /** Sent as it is, in the place of a body. */
  readonly lines?: string
  /** Sent as a multipart form, in the place of a body. */
  readonly form?: ReadonlyArray<FormPart>
  readonly options?: Sending & ChangeOptions
  /** The id of the last event of a stream. */
  readonly after?: string | undefined
}

/** Sends a request and gives the answer; an error status is a rejection. */
type Send = (method: string, path: string, call?: Call) => Promise<Response>

const sender = ({ apiKey, baseUrl, handler, headers }: ClientOptions): Send => {
  const base = baseUrl.replace(/\/+$/u, "")
  const common = { ...headers, ...(apiKey === undefined ? {} : { "x-api-key": apiKey }) }
  return async (method, path, { after, body, form, lines, options, query } = {}) => {
    const sent = form === undefined ? null : formBody(form)
    const hasBody = body !== undefined && body !== null
    const request = new Request(base + path + queryText(query), {
      method,
      signal: options?.signal ?? null,
      headers: {
        ...common,
        ...(hasBody ? { "content-type": "application/json" } : {}),
        ...(after === undefined ? {} : { "last-event-id": after }),
        ...(lines === undefined ? {} : { "content-type": "application/x-ndjson" }),
        ...sent?.headers,
        ...(options?.ifVersion === undefined ? {} : { "if-match": `"${options.ifVersion}"` }),
        ...(options?.idempotencyKey === undefined ? {} : { "idempotency-key": options.idempotencyKey })
      },
      ...(hasBody ? { body: JSON.stringify(body) } : {}),
      ...(lines === undefined ? {} : { body: lines }),
      ...sent?.init
    })
    const response = await (handler === undefined ? globalThis.fetch(request) : handler(request))
    if (response.ok) return response
    throw await readError(response)
  }
}

const queryText = (query: object = {}): string => {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] satisfies [string, string]]
  )
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`
}

/** A path with values in it, each as one segment. */
const pathTo = (parts: TemplateStringsArray, ...values: ReadonlyArray<string>): string =>
  parts.map((part, index) => part + encodeURIComponent(values[index] ?? "")).join("")

/** The answer as the record that the surface promises for this address. A test compares the two. */
const json = async <Record>(response: Promise<Response>): Promise<Record> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  (await (await response).json()) as Record

const events = (send: (signal: AbortSignal) => Promise<Response>, begin: Partial<EventIds> = {}) =>
  leavable(send, (response, signal) => readEvents(response, signal, begin))

/** Makes a client of promises for an API. */
export const connect = async (options: ClientOptions) => {
  const send = sender(options)
  return {
    assistants: assistantCalls(send),
    threads: threadCalls(send),
    messages: messageCalls(send),
    runs: runCalls(send),
    answers: answerCalls(send),
    documents: documentCalls(send),
    realtime: realtimeCalls(send),
    memories: memoryCalls(send),
    models: modelCalls(send),
    billing: billingCalls(send),
    capabilities: () => json<Capabilities>(send("GET", "/capabilities"))
  }
}

/** The client of `connect`, with a method for each endpoint. */
export type Client = Awaited<ReturnType<typeof connect>>

const assistantCalls = (send: Send) => ({
  create: (body: AssistantCreate) => json<Records.Assistant>(send("POST", "/assistants", { body })),
  list: (query: PageQuery & { readonly name?: string } = {}) =>
    json<ReadonlyArray<Records.Assistant>>(send("GET", "/assistants", { query })),
  get: (assistantId: string) => json<Records.Assistant>(send("GET", pathTo`/assistants/${assistantId}`)),
  update: (assistantId: string, body: AssistantUpdate, options: ChangeOptions = {}) =>
    json<Records.Assistant>(send("PUT", pathTo`/assistants/${assistantId}`, { body, options })),
  /** Newest first. */
  versions: (assistantId: string, query: CursorQuery = {}) =>
    json<Records.AssistantVersionList>(send("GET", pathTo`/assistants/${assistantId}/versions`, { query })),
  version: (assistantId: string, version: number) =>
    json<Records.AssistantVersion>(send("GET", pathTo`/assistants/${assistantId}/versions/${`${version}`}`)),
  restore: (assistantId: string, version: number, options: ChangeOptions & Pick<TurnOptions, "idempotencyKey"> = {}) =>
    json<Records.Assistant>(
      send("POST", pathTo`/assistants/${assistantId}/versions/${`${version}`}/restore`, { options })
    ),
  remove: (assistantId: string) =>
    json<typeof Records.AssistantDeleteResponse.Type>(send("DELETE", pathTo`/assistants/${assistantId}`)),
  clone: (assistantId: string, body: AssistantCloneRequest | null = null) =>
    json<typeof Records.AssistantCloneResponse.Type>(send("POST", pathTo`/assistants/${assistantId}/clone`, { body })),
  createThread: (assistantId: string, body: ThreadCreateForAssistant | null = null) =>
    json<Records.Thread>(send("POST", pathTo`/assistants/${assistantId}/threads`, { body })),
  listThreads: (assistantId: string, query: PageQuery = {}) =>
    json<ReadonlyArray<Records.Thread>>(send("GET", pathTo`/assistants/${assistantId}/threads`, { query }))
})

const threadCalls = (send: Send) => ({
  list: (query: PageQuery & { readonly include_messages?: boolean } = {}) =>
    json<ReadonlyArray<Records.Thread>>(send("GET", "/threads", { query })),
  get: (threadId: string) => json<Records.Thread>(send("GET", pathTo`/threads/${threadId}`)),
  update: (threadId: string, body: ThreadUpdate) =>
    json<Records.Thread>(send("PUT", pathTo`/threads/${threadId}`, { body })),
  remove: (threadId: string) =>
    json<typeof Records.ThreadDeleteResponse.Type>(send("DELETE", pathTo`/threads/${threadId}`)),
  /** Makes a thread of messages that were said elsewhere. */
  import: (assistantId: string, body: ThreadImport, options: TurnOptions = {}) =>
    json<Records.Thread>(send("POST", pathTo`/assistants/${assistantId}/threads/import`, { body, options })),
  fork: (threadId: string, body: ThreadFork = {}, options: TurnOptions = {}) =>
    json<Records.Thread>(send("POST", pathTo`/threads/${threadId}/fork`, { body, options })),
  rewind: (threadId: string, body: ThreadRewind, options: TurnOptions = {}) =>
    json<typeof Records.RewoundThread.Type>(send("POST", pathTo`/threads/${threadId}/rewind`, { body, options }))
})

/** Names a message to regenerate or to edit, by its id and that of its thread. */
export interface MessageIds {
  readonly threadId: string
  readonly messageId: string
}

const messageCalls = (send: Send) => {
  const messagePath = ({ messageId, threadId }: MessageIds, act: "edit" | "regenerate") =>
    `${pathTo`/threads/${threadId}/messages/${messageId}`}/${act}`
  const post = (path: string, message: object, stream: boolean | "background", { files = [], ...options }: Sending) => {
    const body = { ...message, ...(stream === "background" ? { background: true } : { stream }) }
    return files.length === 0
      ? send("POST", path, { body, options })
      : send("POST", path, { form: [...formFields(body), ...files.map((file) => ["files", file] as const)], options })
  }
  return {
    send: (threadId: string, message: Unstreamed<MessageRequest>, options: MessageOptions = {}) =>
      json<Records.MessageResponse>(post(pathTo`/threads/${threadId}/messages`, message, false, options)),
    stream: (threadId: string, message: Unstreamed<MessageRequest>, options: MessageOptions = {}) =>
      events((signal) => post(pathTo`/threads/${threadId}/messages`, message, true, { ...options, signal })),
    /** The run goes on by itself. */
    sendInBackground: (threadId: string, message: Unstreamed<MessageRequest>, options: MessageOptions = {}) =>
      json<Inbox.RunAccepted>(post(pathTo`/threads/${threadId}/messages`, message, "background", options)),
    sendStateless: (message: Unstreamed<StatelessMessageRequest>, options: MessageOptions = {}) =>
      json<Records.MessageResponse>(post("/threads/messages", message, false, options)),
    streamStateless: (message: Unstreamed<StatelessMessageRequest>, options: MessageOptions = {}) =>
      events((signal) => post("/threads/messages", message, true, { ...options, signal })),
    /** Sends the question of a message again. Options that are given replace those of the first time. */
    regenerate: (message: MessageIds, over: Unstreamed<RegenerateRequest> = {}, options: TurnOptions = {}) =>
      json<Records.MessageResponse>(post(messagePath(message, "regenerate"), over, false, options)),
    streamRegenerate: (message: MessageIds, over: Unstreamed<RegenerateRequest> = {}, options: TurnOptions = {}) =>
      events((signal) => post(messagePath(message, "regenerate"), over, true, { ...options, signal })),
    edit: (message: MessageIds, edit: Unstreamed<EditRequest>, options: TurnOptions = {}) =>
      json<Records.MessageResponse>(post(messagePath(message, "edit"), edit, false, options)),
    streamEdit: (message: MessageIds, edit: Unstreamed<EditRequest>, options: TurnOptions = {}) =>
      events((signal) => post(messagePath(message, "edit"), edit, true, { ...options, signal }))
  }
}

const runCalls = (send: Send) => {
  type Outputs = Unstreamed<SubmitToolOutputsRequest>
  const submit = (threadId: string, runId: string, body: Outputs, stream: boolean, options: Sending) =>
    send("POST", pathTo`/threads/${threadId}/runs/${runId}/submit-tool-outputs`, { query: { stream }, body, options })
  type Decisions = Unstreamed<ApprovalsRequest>
  const decide = (threadId: string, runId: string, body: Decisions, stream: boolean, options: Sending) =>
    send("POST", pathTo`/threads/${threadId}/runs/${runId}/approvals`, { query: { stream }, body, options })
  return {
    /** Newest first; those that wait for their turn come before all others. */
    list: (threadId: string, query: RunQuery = {}) =>
      json<typeof Records.RunList.Type>(send("GET", pathTo`/threads/${threadId}/runs`, { query })),
    get: (threadId: string, runId: string) =>
      json<Records.Run>(send("GET", pathTo`/threads/${threadId}/runs/${runId}`)),
    inspect: (threadId: string, runId: string) =>
      json<RunInspection>(send("GET", pathTo`/threads/${threadId}/runs/${runId}/inspection`)),
    cancel: (threadId: string, runId: string) =>
      json<typeof Records.CancelResponse.Type>(send("POST", pathTo`/threads/${threadId}/runs/${runId}/cancel`)),
    submitToolOutputs: (threadId: string, runId: string, outputs: Outputs, options: TurnOptions = {}) =>
      json<Records.MessageResponse | Records.CallsOpen>(submit(threadId, runId, outputs, false, options)),
    streamToolOutputs: (threadId: string, runId: string, outputs: Outputs, options: TurnOptions = {}) =>
      events((signal) => submit(threadId, runId, outputs, true, { ...options, signal })),
    /** Of all threads, newest first. */
    all: (query: InboxQuery = {}) => json<typeof Inbox.RunSummaryList.Type>(send("GET", "/runs", { query })),
    /** Each run of any thread that begins or changes its state, until the loop is left. `after`: the id of the last update. */
    updates: (after?: string) =>
      leavable((signal) => send("GET", "/runs/events", { after, options: { signal } }), readUpdates),
    /** Approves or rejects calls. The reply of the run that goes on, or the calls for which it still waits. */
    decide: (threadId: string, runId: string, decisions: Decisions, options: TurnOptions = {}) =>
      json<Records.MessageResponse | Records.CallsOpen>(decide(threadId, runId, decisions, false, options)),
    /** Empty when the run still waits. */
    streamDecisions: (threadId: string, runId: string, decisions: Decisions, options: TurnOptions = {}) =>
      events((signal) => decide(threadId, runId, decisions, true, { ...options, signal })),
    /** The events after a sequence number, then live. Empty when none is left. */
    events: (threadId: string, runId: string, after = 0) =>
      events(
        (signal) =>
          send("GET", pathTo`/threads/${threadId}/runs/${runId}/events`, { query: { after }, options: { signal } }),
        {
          thread_id: threadId,
          run_id: runId
        }
      )
  }
}

const answerCalls = (send: Send) => ({
  recordOutcome: (threadId: string, messageId: string, outcome: Answers.OutcomeRequest) =>
    json<typeof Answers.OutcomeResponse.Type>(
      send("POST", pathTo`/threads/${threadId}/messages/${messageId}/outcomes`, { body: outcome })
    ),
  report: (assistantId: string) =>
    json<Answers.AnswersReport>(send("GET", pathTo`/assistants/${assistantId}/answers/report`))
})

/** `{ assistantId }` for all threads of an assistant, `{ threadId }` for one thread. */
export type DocumentScope = { readonly assistantId: string } | { readonly threadId: string }

const documentCalls = (send: Send) => {
  const documentPath = (scope: DocumentScope) =>
    "threadId" in scope
      ? pathTo`/threads/${scope.threadId}/documents`
      : pathTo`/assistants/${scope.assistantId}/documents`
  return {
    upload: (scope: DocumentScope, file: FileInput, fields: { readonly metadata?: object } = {}) =>
      json<Documents.DocumentRead>(
        send("POST", documentPath(scope), { form: [...formFields(fields), ["file", file]] })
      ),
    list: (scope: DocumentScope) => json<ReadonlyArray<Documents.DocumentRead>>(send("GET", documentPath(scope))),
    search: (scope: DocumentScope, body: Documents.DocumentSearchRequest) =>
      json<Documents.DocumentExcerpts>(send("POST", `${documentPath(scope)}/search`, { body })),
    status: (documentId: string) =>
      json<Documents.DocumentStatusResponse>(send("GET", pathTo`/documents/${documentId}/status`)),
    chunks: (documentId: string, query: PageQuery = {}) =>
      json<Documents.DocumentChunks>(send("GET", pathTo`/documents/${documentId}/chunks`, { query })),
    /** The bytes, as they come. */
    content: (documentId: string) => send("GET", pathTo`/documents/${documentId}/content`),
    /** An address of the bytes that needs no key. */
    url: (documentId: string, body: Documents.DocumentUrlRequest | null = null) =>
      json<Documents.DocumentUrl>(send("POST", pathTo`/documents/${documentId}/url`, { body })),
    remove: (documentId: string) =>
      json<typeof Documents.DocumentDeleteResponse.Type>(send("DELETE", pathTo`/documents/${documentId}`))
  }
}

const realtimeCalls = (send: Send) => ({
  issueTicket: (body: Realtime.RealtimeTicketRequest = null) =>
    json<Realtime.RealtimeTicket>(send("POST", "/threads/realtime/tickets", { body }))
})
const memoryCalls = (send: Send) => {
  type Page = { readonly page?: number; readonly page_size?: number }
  return {
    /** Without a page all of them. */
    list: (assistantId: string, query: Page = {}) =>
      json<Memories.MemoryList>(send("GET", pathTo`/assistants/${assistantId}/memories`, { query })),
    add: (assistantId: string, body: Memories.MemoryRequest) =>
      json<typeof Memories.MemoryCreated.Type>(send("POST", pathTo`/assistants/${assistantId}/memories`, { body })),
    get: (assistantId: string, memoryId: string) =>
      json<Memories.Memory>(send("GET", pathTo`/assistants/${assistantId}/memories/${memoryId}`)),
    update: (assistantId: string, memoryId: string, body: Memories.MemoryRequest) =>
      json<Memories.Memory>(send("PUT", pathTo`/assistants/${assistantId}/memories/${memoryId}`, { body })),
    remove: (assistantId: string, memoryId: string) =>
      json<typeof Memories.MemoryDone.Type>(send("DELETE", pathTo`/assistants/${assistantId}/memories/${memoryId}`)),
    forgetAll: (assistantId: string) =>
      json<typeof Memories.MemoryDone.Type>(send("DELETE", pathTo`/assistants/${assistantId}/memories`)),
    history: (assistantId: string, memoryId: string) =>
      json<Memories.MemoryHistory>(send("GET", pathTo`/assistants/${assistantId}/memories/${memoryId}/history`)),
    search: (assistantId: string, body: Memories.MemorySearchRequest) =>
      json<typeof Memories.MemorySearchResponse.Type>(
        send("POST", pathTo`/assistants/${assistantId}/memories/search`, { body })
      ),
    stats: (assistantId: string) =>
      json<typeof Memories.MemoryStats.Type>(send("GET", pathTo`/assistants/${assistantId}/memories/stats`)),
    /** JSON lines, as `import` takes them. */
    export: async (assistantId: string) =>
      (await send("GET", pathTo`/assistants/${assistantId}/memories/export`)).text(),
    import: (assistantId: string, lines: string) =>
      json<typeof Memories.MemoryImported.Type>(
        send("POST", pathTo`/assistants/${assistantId}/memories/import`, { lines })
      ),
    /** `memory_operation_id` of a reply. */
    operation: (operationId: string) =>
      json<Memories.MemoryOperation>(send("GET", pathTo`/assistants/memories/operations/${operationId}`))
  }
}

const modelCalls = (send: Send) => ({
  list: (query: ModelQuery = {}) => json<typeof Models.ModelList.Type>(send("GET", "/models", { query })),
  get: (name: string) => json<Models.Model>(send("GET", pathTo`/models/${name}`)),
  providers: () => json<typeof Models.ProviderList.Type>(send("GET", "/models/providers")),
  videos: (query: PageQuery & { readonly provider?: string } = {}) =>
    json<typeof Models.VideoModelList.Type>(send("GET", "/models/video/all", { query })),
  video: (name: string) => json<Models.VideoModel>(send("GET", pathTo`/models/video/${name}`))
})

const billingCalls = (send: Send) => ({
  balance: () => json<typeof Models.Balance.Type>(send("GET", "/billing/balance")),
  recentUsage: (query: { readonly page?: number; readonly page_size?: number } = {}) =>
    json<typeof Models.RecentUsage.Type>(send("GET", "/billing/usage/recent", { query })),
  upstreams: () => json<typeof Models.UpstreamProviderList.Type>(send("GET", "/billing/models/providers"))
})

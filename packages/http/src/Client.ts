/**
 * Clients made from the definition of the surface, for a server somewhere or for a handler in the same process: the same types, the same
 * wire. `make` is for those who live in Effect; `connect` gives promises, and streams for `for await`. Failures are the classes of
 * `WireErrors`.
 */
import type { ModelType } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpApiClient from "effect/http-api/HttpApiClient"
import * as Stream from "effect/Stream"
import { Api } from "./Api.ts"
import type {
  AssistantCloneRequest,
  AssistantCreate,
  AssistantUpdate,
  ThreadCreateForAssistant
} from "./api/AssistantsApi.ts"
import { compact } from "./api/Fields.ts"
import type { MessageRequest, StatelessMessageRequest } from "./api/MessageBody.ts"
import type { SubmitToolOutputsRequest } from "./api/RunsApi.ts"
import type { StreamEvent } from "./api/StreamEvents.ts"

export interface ClientOptions {
  /** Where the service is mounted. In the same process any origin does, such as `http://in.process/ai`. */
  readonly baseUrl: string
  readonly apiKey?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Absent: the platform's. In the same process: the web handler. */
  readonly handler?: (request: Request) => Promise<Response>
}

export type EffectClient = HttpApiClient.ForApi<typeof Api>

export const make = ({ apiKey, baseUrl, handler, headers }: ClientOptions): Effect.Effect<EffectClient> => {
  const all = { ...headers, ...(apiKey === undefined ? {} : { "x-api-key": apiKey }) }
  const through = handler === undefined ? globalThis.fetch : fetchThrough(handler)
  return HttpApiClient.make(Api, {
    baseUrl,
    transformClient: (client) =>
      client.pipe(
        HttpClient.mapRequest(HttpClientRequest.setHeaders(all)),
        HttpClient.transformResponse(Effect.provideService(FetchHttpClient.Fetch, through))
      )
  }).pipe(Effect.provide(FetchHttpClient.layer))
}

const fetchThrough =
  (handler: (request: Request) => Promise<Response>): typeof globalThis.fetch =>
  async (input, init) =>
    handler(init?.body instanceof FormData ? await withBytes(input, init, init.body) : new Request(input, init))

/** Node's own reading of a form breaks when it is not read to its end, and the handler does not read what is too large. */
const withBytes = async (input: string | URL | Request, init: RequestInit, form: FormData): Promise<Request> => {
  const encoded = new Response(form)
  const request = new Request(input, { ...init, body: await encoded.arrayBuffer() })
  request.headers.set("content-type", encoded.headers.get("content-type") ?? "multipart/form-data")
  return request
}

/** A page of a list. */
export interface PageQuery {
  readonly skip?: number
  readonly limit?: number
}

/** Of everything that runs a model. */
export interface TurnOptions {
  readonly idempotencyKey?: string
}

type Unstreamed<A> = Omit<A, "stream">

export const connect = async (options: ClientOptions) => {
  const client = await Effect.runPromise(make(options))
  return {
    assistants: assistantsOf(client),
    threads: threadsOf(client),
    messages: messagesOf(client),
    runs: runsOf(client),
    models: modelsOf(client),
    billing: billingOf(client)
  }
}

export type Client = Awaited<ReturnType<typeof connect>>

const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect)

const assistantsOf = ({ assistants }: EffectClient) => ({
  create: (payload: AssistantCreate) => run(assistants.create({ payload })),
  list: (query: PageQuery & { readonly name?: string } = {}) => run(assistants.list({ query })),
  get: (assistant_id: string) => run(assistants.get({ params: { assistant_id } })),
  update: (assistant_id: string, payload: AssistantUpdate) =>
    run(assistants.update({ params: { assistant_id }, payload })),
  remove: (assistant_id: string) => run(assistants.remove({ params: { assistant_id } })),
  clone: (assistant_id: string, payload: AssistantCloneRequest | null = null) =>
    run(assistants.clone({ params: { assistant_id }, payload })),
  createThread: (assistant_id: string, payload: ThreadCreateForAssistant | null = null) =>
    run(assistants.createThread({ params: { assistant_id }, payload })),
  listThreads: (assistant_id: string, query: PageQuery = {}) =>
    run(assistants.listThreads({ params: { assistant_id }, query }))
})

const threadsOf = ({ threads }: EffectClient) => ({
  list: (query: PageQuery & { readonly include_messages?: boolean } = {}) => run(threads.list({ query })),
  get: (thread_id: string) => run(threads.get({ params: { thread_id } })),
  remove: (thread_id: string) => run(threads.remove({ params: { thread_id } }))
})

const messagesOf = ({ messages }: EffectClient) => {
  const send = (thread_id: string, payload: MessageRequest, options: TurnOptions) =>
    messages.send({ params: { thread_id }, headers: headersOf(options), payload })
  const sendStateless = (payload: StatelessMessageRequest, options: TurnOptions) =>
    messages.sendStateless({ headers: headersOf(options), payload })
  return {
    send: (threadId: string, message: Unstreamed<MessageRequest>, options: TurnOptions = {}) =>
      reply(send(threadId, { ...message, stream: false }, options)),
    stream: (threadId: string, message: Unstreamed<MessageRequest>, options: TurnOptions = {}) =>
      events(send(threadId, { ...message, stream: true }, options)),
    sendStateless: (message: Unstreamed<StatelessMessageRequest>, options: TurnOptions = {}) =>
      reply(sendStateless({ ...message, stream: false }, options)),
    streamStateless: (message: Unstreamed<StatelessMessageRequest>, options: TurnOptions = {}) =>
      events(sendStateless({ ...message, stream: true }, options))
  }
}

const runsOf = ({ runs }: EffectClient) => {
  const submit = (
    params: { readonly thread_id: string; readonly run_id: string },
    payload: Unstreamed<SubmitToolOutputsRequest>,
    stream: boolean,
    options: TurnOptions
  ) => runs.submitToolOutputs({ params, headers: headersOf(options), query: { stream }, payload })
  return {
    get: (thread_id: string, run_id: string) => run(runs.get({ params: { thread_id, run_id } })),
    cancel: (thread_id: string, run_id: string) => run(runs.cancel({ params: { thread_id, run_id } })),
    submitToolOutputs: (
      thread_id: string,
      run_id: string,
      outputs: Unstreamed<SubmitToolOutputsRequest>,
      options: TurnOptions = {}
    ) => reply(submit({ thread_id, run_id }, outputs, false, options)),
    streamToolOutputs: (
      thread_id: string,
      run_id: string,
      outputs: Unstreamed<SubmitToolOutputsRequest>,
      options: TurnOptions = {}
    ) => events(submit({ thread_id, run_id }, outputs, true, options)),
    /** The events after a sequence number, then live. Empty when none is left. */
    events: (thread_id: string, run_id: string, after = 0) =>
      events(runs.events({ params: { thread_id, run_id }, headers: {}, query: { after } }))
  }
}

export interface ModelQuery extends PageQuery {
  readonly provider?: string
  readonly model_type?: ModelType
  readonly supports_tools?: boolean
  readonly min_context?: number
  readonly max_context?: number
}

const modelsOf = ({ models }: EffectClient) => ({
  list: (query: ModelQuery = {}) => run(models.list({ query })),
  get: (model_name: string) => run(models.get({ params: { model_name } })),
  providers: () => run(models.providers()),
  videos: (query: PageQuery & { readonly provider?: string } = {}) => run(models.videos({ query })),
  video: (model_name: string) => run(models.video({ params: { model_name } }))
})

const billingOf = ({ billing }: EffectClient) => ({
  balance: () => run(billing.balance()),
  recentUsage: (query: { readonly page?: number; readonly page_size?: number } = {}) =>
    run(billing.recentUsage({ query })),
  upstreams: () => run(billing.upstreams())
})

const headersOf = ({ idempotencyKey }: TurnOptions) => compact({ "idempotency-key": idempotencyKey })

type EventStream = Stream.Stream<StreamEvent, unknown>

/** The answer to a request that asked for one record. */
const reply = <A, E>(answer: Effect.Effect<A | EventStream, E>): Promise<A> =>
  run(
    Effect.flatMap(answer, (value) =>
      Stream.isStream(value) ? Effect.die(new Error("The server answered with a stream")) : Effect.succeed(value)
    )
  )

/** The answer to a request that asked for a stream. It is sent when the first event is asked for; leaving the loop closes it. */
async function* events<A, E>(answer: Effect.Effect<A | EventStream, E>): AsyncGenerator<StreamEvent, void, undefined> {
  const value = await run(answer)
  if (isEventStream(value)) yield* Stream.toAsyncIterable(value)
}

const isEventStream = <A>(value: A | EventStream): value is EventStream => Stream.isStream(value)

/**
 * The service for a test: a scripted kernel behind the web handler, two owners with a key each, and a client by hand as foreign programs
 * write it. Used by every test of this package.
 */
import { ScriptedModel, type ScriptedVideo, type ScriptStep, TestKernel } from "@colloquy/testing"
import type { InMemory } from "@colloquy/adapters/in-memory"
import {
  Kernel,
  Keys,
  Metering,
  type MeteringPort,
  Principal,
  type Provider,
  Providers,
  type TurnParts
} from "@colloquy/core"
import { type ChatDriver, type ChatEvent, describeModel, ModelError, noUsage } from "@colloquy/core/adapters"
import { Answers } from "@colloquy/core/answers"
import { Inspections } from "@colloquy/core/inspection"
import { Realtime, type RealtimeModel, RealtimeModels, Tickets } from "@colloquy/core/realtime"
import { Memory } from "@colloquy/core/memory"
import { DocumentLinks } from "@colloquy/core/documents"
import { Images, Videos } from "@colloquy/core/media"
import { WebSearch, type WebSearchPort } from "@colloquy/core/web-search"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { type RoutesOptions, type WebHandler, webHandler } from "../src/index.ts"

export const keys = { ada: "key-of-ada", bob: "key-of-bob" }

export interface ServiceOptions extends TestKernel.TestKernelOptions {
  readonly http?: RoutesOptions<never>
  /** More for the kernel's context, such as a clock or an adapter of a port. */
  readonly extra?: Layer.Layer<never>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; undefined when it is none. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

export interface Call {
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface Service extends WebHandler {
  readonly model: typeof ScriptedModel.Service
  /** Sends a request. A body that is no form and no text goes as JSON. */
  readonly fetch: (method: string, path: string, body?: unknown, call?: Call) => Promise<Response>
  /** Sends a request and reads the whole answer. */
  readonly call: (method: string, path: string, body?: unknown, call?: Call) => Promise<Answer>
  readonly run: <A, E>(effect: Effect.Effect<A, E, TestKernel.Services | Principal>, owner?: string) => Promise<A>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

const registerKeys = Keys.use((all) =>
  Effect.forEach(Object.entries(keys), ([owner, key]) =>
    all.register(owner, Redacted.make(key)).pipe(Principal.provide(owner))
  )
)

type PlainBody = string | FormData | URLSearchParams | Uint8Array<ArrayBuffer> | ReadableStream

const isSentAsIs = (body: unknown): body is PlainBody =>
  typeof body === "string" ||
  body instanceof FormData ||
  body instanceof URLSearchParams ||
  body instanceof Uint8Array ||
  body instanceof ReadableStream

/** A service whose model follows a script. */
export const open = async (steps: ReadonlyArray<ScriptStep>, options: ServiceOptions = {}): Promise<Service> => {
  const { extra = Layer.empty, http, ...kernelOptions } = options
  return serve(TestKernel.layer(steps, kernelOptions).pipe(Layer.provideMerge(extra)), http)
}

/** A service over any stores, whose model talks as long as one likes: it says what it was told, or calls the first tool when it has one. */
export const openEndless = (
  stores: Layer.Layer<InMemory.Stores, unknown>,
  http?: RoutesOptions<never>
): Promise<Service> =>
  serve(
    Kernel.layer.pipe(
      Layer.provideMerge(Providers.layer({ providers: [endless], defaults: { provider: "endless", model: "echo" } })),
      Layer.provideMerge(stores),
      Layer.merge(ScriptedModel.layer([])),
      Layer.fresh
    ),
    http
  )

/** The same with voice sessions, whose tickets the test may redeem. */
export const openVoice = async (
  stores: Layer.Layer<InMemory.Stores, unknown>,
  models: ReadonlyArray<RealtimeModel> = []
): Promise<Service & { readonly tickets: typeof Tickets.Service }> => {
  const found: Array<typeof Tickets.Service> = []
  const wing = Realtime.layer().pipe(
    Layer.provide(RealtimeModels.layer(models)),
    Layer.tap((context) => Effect.sync(() => found.push(Context.get(context, Tickets))))
  )
  const service = await serve(
    wing.pipe(
      Layer.provideMerge(Kernel.layer),
      Layer.provideMerge(Providers.layer({ providers: [endless], defaults: { provider: "endless", model: "echo" } })),
      Layer.provideMerge(stores),
      Layer.merge(ScriptedModel.layer([])),
      Layer.fresh
    )
  )
  const [tickets] = found
  if (tickets === undefined) throw new Error("The wing was not built")
  return { ...service, tickets }
}

/** The same with a provider of typed answers beside it: `typed-latest` answers, `typed-broken` sends nonsense, `typed-poor` has no credit. */
export const openTyped = (
  stores: Layer.Layer<InMemory.Stores, unknown>,
  metering: MeteringPort = { ensureCredit: () => Effect.void, record: () => Effect.void },
  guard: Layer.Layer<never, never, TurnParts> = Layer.empty
): Promise<Service> =>
  serve(
    Layer.merge(Answers.layer(), guard).pipe(
      Layer.provideMerge(Kernel.layer),
      Layer.provide(Layer.succeed(Metering, metering)),
      Layer.provideMerge(
        Providers.layer({ providers: [endless, typed], defaults: { provider: "endless", model: "echo" } })
      ),
      Layer.provideMerge(stores),
      Layer.merge(ScriptedModel.layer([])),
      Layer.fresh
    )
  )

/** The same with memory. After a turn the model remembers what stands behind "Remember:", and forgets what stands behind "Forget:". */
export const openRemembering = (
  stores: Layer.Layer<InMemory.Stores, unknown>,
  http?: RoutesOptions<never>
): Promise<Service> =>
  serve(
    Memory.layer().pipe(
      Layer.provideMerge(Kernel.layer),
      Layer.provideMerge(
        Providers.layer({
          providers: [{ id: "endless", chat: learning }],
          defaults: { provider: "endless", model: "echo" }
        })
      ),
      Layer.provideMerge(stores),
      Layer.merge(ScriptedModel.layer([])),
      Layer.fresh
    ),
    http
  )

/**
 * The same with videos, made by a script without long pauses. The model calls the tool with what the message or the last output says, where
 * that is an object with a prompt, and any other tool that it is asked for; then it says what it was told.
 */
export const openVideos = (
  stores: Layer.Layer<InMemory.Stores, unknown>,
  studio: ScriptedVideo.ScriptedVideo
): Promise<Service> =>
  serve(
    Videos.layer({ firstPause: "5 millis", longestPause: "5 millis" }).pipe(
      Layer.provideMerge(DocumentLinks.layer),
      Layer.provideMerge(Kernel.layer),
      Layer.provideMerge(
        Providers.layer({
          providers: [{ id: "director", chat: directing }, studio.provider],
          defaults: { provider: "director", model: "director-1" }
        })
      ),
      Layer.provideMerge(stores),
      Layer.merge(ScriptedModel.layer([])),
      Layer.fresh
    )
  )

const directing: ChatDriver = ({ messages, tools }) => {
  const last = messages.at(-1)
  const parts = last?.role === "user" ? last.content.map((part) => (part.type === "text" ? part.text : "")) : []
  const said = last?.role === "tool" ? last.output : parts.join("")
  const wish = parseObject(said)
  const name = "prompt" in wish ? "generate_video" : "ask" in wish ? String(wish.ask) : ""
  const isOffered = tools.some((each) => each.name === name)
  const call = { id: globalThis.crypto.randomUUID(), name, arguments: said }
  return isOffered
    ? Stream.fromIterable<ChatEvent>([
        { _tag: "ToolCallReady", call },
        { _tag: "Finished", reason: "tool_calls", model: null, providerData: null }
      ])
    : saying(said)
}

const parseObject = (text: string): object => {
  const value = parse(text)
  return typeof value === "object" && value !== null ? value : {}
}

/** The same with pictures and a search engine; the conversation model follows a script. The painter's model is `oil`, its pictures cost 0.04. */
export const openPainting = (
  steps: ReadonlyArray<ScriptStep>,
  stores: Layer.Layer<InMemory.Stores, unknown>,
  metering: MeteringPort = { ensureCredit: () => Effect.void, record: () => Effect.void }
): Promise<Service> => {
  const providers = Layer.unwrap(
    Effect.map(ScriptedModel, ({ provider }) =>
      Providers.layer({
        providers: [provider, painter],
        defaults: { provider: provider.id, model: `${provider.id}-model` }
      })
    )
  )
  return serve(
    Layer.mergeAll(Images.layer(), WebSearch.layer(engine)).pipe(
      Layer.provideMerge(Kernel.layer),
      Layer.provide(Layer.succeed(Metering, metering)),
      Layer.provideMerge(providers),
      Layer.provideMerge(ScriptedModel.layer(steps)),
      Layer.provideMerge(stores),
      Layer.fresh
    )
  )
}

const painter: Provider = {
  id: "painter",
  image: {
    generate: () =>
      Effect.succeed({
        images: [Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1)],
        usage: { ...noUsage, costUsd: 0.04 },
        model: null
      })
  },
  describe: () => ({
    supportsVision: true,
    details: { supported_parameters: { n: { type: "range", min: 1, max: 2 } } }
  }),
  listModels: Effect.succeed([
    describeModel({
      name: "oil",
      provider: "painter",
      modelType: "image",
      details: { supported_parameters: { n: { type: "range", min: 1, max: 2 } } }
    })
  ])
}

const engine: WebSearchPort = {
  id: "engine",
  priceUsd: 0.01,
  search: ({ text }) =>
    Effect.succeed({
      results: [
        { url: "https://foxes.example/", title: `About ${text}`, text: "Foxes dig dens.", publishedAt: null },
        { url: "javascript:alert(1)", title: "Bad", text: "", publishedAt: null }
      ],
      costUsd: 0.01
    })
}

const learning: ChatDriver = (request) => {
  const [first] = request.messages
  const asked =
    first?.role === "user" ? first.content.map((part) => (part.type === "text" ? part.text : "")).join("") : ""
  return request.jsonOutput && asked.startsWith('{"known_memories"') ? saying(operationsFor(asked)) : echo(request)
}

const operationsFor = (asked: string): string => {
  const { known_memories: known, messages } = JSON.parse(asked)
  const operations = messages.flatMap(({ number, role, text }: { number: number; role: string; text: string }) => {
    const [, kind, fact = ""] = /^(Remember|Forget): (.+)$/u.exec(text) ?? []
    if (role !== "user" || kind === undefined) return []
    const target = known.find((memory: { text: string }) => memory.text === fact)?.number
    return [{ op: kind === "Remember" ? "ADD" : "DELETE", text: fact, message: number, quote: fact, target }]
  })
  return JSON.stringify({ operations })
}

const saying = (text: string) =>
  Stream.fromIterable<ChatEvent>([
    { _tag: "TextDelta", text },
    { _tag: "Finished", reason: "stop", model: null, providerData: null }
  ])

/** The last option is the most probable one, unless all are equal. */
const distributionOver = (options: ReadonlyArray<string>, areEqual: boolean) =>
  Object.fromEntries(
    options.map((option, index) => [
      option,
      areEqual ? 1 / options.length : (index === options.length - 1 ? 4 : 1) / (options.length + 3)
    ])
  )

export const typed: Provider = {
  id: "typedprovider",
  answers: ({ model, provider, questions }) =>
    model === "typed-poor"
      ? Effect.fail(new ModelError({ reason: "quota", provider, model, status: 402 }))
      : Effect.succeed({
          distributions: Object.fromEntries(
            Object.entries(questions).map(([name, { criteria, type }]) => [
              name,
              model === "typed-broken"
                ? { nonsense: 1 }
                : distributionOver(
                    type === "noul" ? ["false", "true"] : Object.keys(criteria),
                    model === "typed-undecided"
                  )
            ])
          ),
          method: "native" as const,
          estimated: false,
          model: model === "typed-latest" ? "typed-1.2" : model,
          usage: { ...noUsage, inputTokens: 212, outputTokens: 3 }
        }),
  listModels: Effect.succeed([
    describeModel({ name: "typed-1.2", provider: "typedprovider", modelType: "system_one" }),
    describeModel({ name: "typed-latest", provider: "typedprovider", modelType: "system_one" })
  ])
}

const echo: ChatDriver = ({ messages, toolChoice, tools }) => {
  const last = messages.at(-1)
  const [first] = tools
  const call = { id: globalThis.crypto.randomUUID(), name: first?.name ?? "", arguments: "{}" }
  const calls: ReadonlyArray<ChatEvent> =
    first === undefined || toolChoice === "none" || last?.role === "tool"
      ? []
      : [
          { _tag: "ToolCallStart", id: call.id, name: call.name },
          { _tag: "ToolCallReady", call }
        ]
  return Stream.fromIterable<ChatEvent>([
    { _tag: "TextDelta", text: JSON.stringify(last ?? null) },
    ...calls,
    { _tag: "Finished", reason: calls.length === 0 ? "stop" : "tool_calls", model: null, providerData: null }
  ])
}

const endless: Provider = { id: "endless", chat: echo }

export const serve = async (
  kernel: Layer.Layer<TestKernel.Services, unknown>,
  http: RoutesOptions<never> = {}
): Promise<Service> => {
  const runtime = ManagedRuntime.make(Layer.provideMerge(Inspections.layer(), kernel))
  const services = await runtime.context()
  await runtime.runPromise(registerKeys)
  const web = webHandler({ ...http, kernel: Layer.succeedContext(services) })
  const send: Service["fetch"] = async (method, path, sent, { headers: more, key = keys.ada, signal } = {}) => {
    // Node's own reading of a form breaks when it is not read to its end.
    const form = sent instanceof FormData ? new Response(sent) : undefined
    const body = form === undefined ? sent : new Uint8Array(await form.arrayBuffer())
    const headers = {
      ...(form === undefined ? {} : { "content-type": form.headers.get("content-type") ?? "" }),
      ...more
    }
    const isJson = body !== undefined && !isSentAsIs(body)
    const content = isJson ? JSON.stringify(body) : body
    return web.handler(
      new Request(`http://service${path}`, {
        method,
        headers: {
          ...(key === null ? {} : { "x-api-key": key }),
          ...(isJson ? { "content-type": "application/json" } : {}),
          ...headers
        },
        ...(isSentAsIs(content) ? { body: content, duplex: "half" as const } : {}),
        ...(signal === undefined ? {} : { signal })
      })
    )
  }
  return {
    ...web,
    model: Context.get(services, ScriptedModel),
    fetch: send,
    call: async (...request) => readAnswer(await send(...request)),
    run: (effect, owner = "ada") => runtime.runPromise(effect.pipe(Principal.provide(owner))),
    [Symbol.asyncDispose]: async () => {
      await web.dispose()
      await runtime.dispose()
    }
  }
}

const readAnswer = async (response: Response): Promise<Answer> => {
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: parse(text) }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export interface SseEvent {
  readonly id: string
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly data: any
  /** Thread and run, as this event or those before it tell them. */
  readonly place: { readonly thread_id: string; readonly run_id: string }
}

/** Events as a program without any library reads them: split at blank lines, `id:` and `data:` by their first letters. */
export async function* readEvents(response: Response): AsyncGenerator<SseEvent> {
  const decoder = new TextDecoder()
  let rest = ""
  let place = { thread_id: "", run_id: "" }
  for await (const piece of response.body ?? []) {
    rest += decoder.decode(piece, { stream: true })
    const blocks = rest.split("\n\n")
    rest = blocks.pop() ?? ""
    for (const block of blocks) {
      const lines = block.split("\n").filter((line) => !line.startsWith(":"))
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = field("data")
      if (data === undefined) continue
      const event = JSON.parse(data)
      if ("run_id" in event) place = { thread_id: event.thread_id, run_id: event.run_id }
      yield { id: field("id") ?? "", data: event, place }
    }
  }
}

export const allEvents = async (response: Response): Promise<ReadonlyArray<SseEvent>> => {
  const events: Array<SseEvent> = []
  for await (const event of readEvents(response)) events.push(event)
  return events
}

/** As they came over the wire. */
export const onTheWire = (events: ReadonlyArray<SseEvent>) => events.map(({ data, id }) => ({ data, id }))

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gu
const time = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/gu

/** Ids and times as names in the order in which they turn up, so that an answer can be compared with one written down. */
export const named = (): ((text: string) => string) => {
  const ids = new Map<string, string>()
  const idName = (id: string) => {
    const known = ids.get(id) ?? `<id ${ids.size + 1}>`
    ids.set(id, known)
    return known
  }
  return (text) => text.replaceAll(time, "<time>").replaceAll(uuid, idName)
}

export const tool = (name: string) => ({
  type: "function",
  function: {
    name,
    description: `About ${name}`,
    parameters: { type: "object", properties: { city: { type: "string" } } }
  }
})

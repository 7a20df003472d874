/**
 * Voice sessions for tests, without a socket: a kernel with in-memory stores, a scripted voice model, and clients that collect what they receive.
 * All timers use the test's clock. `layer` provides the service; `connect` opens a client with the key of an owner.
 */
import { type HostedTool, HostedTools, InvalidKey, Kernel, Keys, type Principal, Providers } from "@colloquy/core"
import {
  type ClientFrame,
  type ClientInput,
  type ClientSocket,
  type CloseReason,
  type Credentials,
  Realtime,
  nothingSelected,
  RealtimeModels,
  RealtimeSessions,
  type ServiceEvent,
  type SessionLimits,
  type SessionRequest,
  type SessionStore,
  type Tickets
} from "@colloquy/core/realtime"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { InMemory } from "@colloquy/adapters/in-memory"
import type { VoiceBeat } from "./RealtimeScript.ts"
import { make, type ScriptedRealtimeModel, type ScriptedRealtimeOptions } from "./ScriptedRealtime.ts"

/** The scripted voice model of a test. */
export class ScriptedVoice extends Context.Service<ScriptedVoice, ScriptedRealtimeModel>()(
  "@colloquy/testing/ScriptedVoice"
) {}

/** What sessions in tests need. */
export type Services =
  | Providers
  | RealtimeSessions
  | Tickets
  | ScriptedVoice
  | RealtimeModels
  | Kernel.Kernel
  | InMemory.Stores

/** The voice, the state and the tools of sessions in tests. */
export interface TestRealtimeOptions extends ScriptedRealtimeOptions {
  /** Two services with the same state behave like two processes with the same database. Default: a new state. */
  readonly state?: InMemory.State
  readonly hosted?: ReadonlyArray<HostedTool>
  readonly limits?: Partial<SessionLimits>
  /** Providers for other work of a session than its voice, for example learning memories. Default: none. */
  readonly providers?: Layer.Layer<Providers>
  /** The parts of the sessions: `Memory.layer()`, `Documents.layer()`, or parts of the host. */
  readonly parts?: Layer.Layer<never, never, Kernel.Kernel | Providers | InMemory.Stores>
  /** Replaces the in-memory store, for example by one that fails. */
  readonly sessionStore?: Layer.Layer<SessionStore>
}

/** One list of beats for each session. */
export const layer = (
  sessions: ReadonlyArray<ReadonlyArray<VoiceBeat>>,
  options: TestRealtimeOptions = {}
): Layer.Layer<Services> => {
  const voice = Layer.effect(ScriptedVoice, make(sessions, options))
  const models = Layer.unwrap(Effect.map(ScriptedVoice, ({ model }) => RealtimeModels.layer([model])))
  return Layer.mergeAll(
    Layer.orDie(Realtime.layer(options.limits)),
    HostedTools.tools(options.hosted ?? []),
    options.parts ?? Layer.empty
  ).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(models),
    Layer.provideMerge(voice),
    Layer.provideMerge(stores(options)),
    Layer.provideMerge(options.providers ?? noProviders),
    Layer.fresh
  )
}

const noProviders = Providers.layer({ providers: [], defaults: { provider: "none", model: "none" } })

const stores = ({ sessionStore, state }: TestRealtimeOptions): Layer.Layer<InMemory.Stores> =>
  Layer.unwrap(
    Effect.sync(() => {
      const own = state ?? InMemory.makeState()
      return Layer.merge(InMemory.layerFrom(own), sessionStore ?? Layer.empty)
    })
  )

/** A client of one session, without a socket. */
export interface TestClient {
  /** All events from the service, without audio. */
  readonly events: ReadonlyArray<ServiceEvent>
  /** Waits for the next event of this kind that no earlier call of `next` has returned. */
  readonly next: <Tag extends ServiceEvent["_tag"]>(tag: Tag) => Effect.Effect<Extract<ServiceEvent, { _tag: Tag }>>
  readonly audio: () => Uint8Array
  readonly send: (frame: ClientFrame) => void
  readonly speak: (audio: Uint8Array) => void
  /** Sends any other input of a connection. */
  readonly input: (input: ClientInput) => void
  /** Breaks the connection. */
  readonly leave: () => void
  /** Why the service has closed the connection; null while it is open. */
  readonly closed: () => CloseReason | null
  /** Waits until the service has closed the connection. */
  readonly end: Effect.Effect<CloseReason>
  readonly isPaused: () => boolean
  readonly socket: ClientSocket
}

/** A first frame for the scripted model. */
export const request = (fields: Partial<SessionRequest> = {}): SessionRequest => ({
  threadId: null,
  assistantId: null,
  systemPrompt: null,
  tools: null,
  provider: "scripted",
  model: "scripted-voice",
  providerOptions: {},
  selection: nothingSelected,
  ...fields
})

/** Opens a connection, on which the client has not sent anything yet. */
export const dial = (
  credentials: Partial<Omit<Credentials, "principal">> & { readonly key?: Redacted.Redacted | null }
): Effect.Effect<TestClient & { readonly served: Fiber.Fiber<void> }, never, RealtimeSessions | Keys | Scope.Scope> =>
  Effect.gen(function* () {
    const client = makeClient()
    const sessions = yield* RealtimeSessions
    const keys = yield* Keys
    const { key = null, origin = null, ticket = null } = credentials
    const principal = key === null ? Effect.fail(new InvalidKey()) : keys.authenticate(key)
    const served = yield* Effect.forkScoped(sessions.serve(client.socket, { principal, ticket, origin }), {
      startImmediately: true
    })
    return { ...client, served }
  })

/** Opens a connection for the principal and sends its first frame. */
export const connect = (
  fields: Partial<SessionRequest> = {}
): Effect.Effect<
  TestClient & { readonly served: Fiber.Fiber<void> },
  never,
  RealtimeSessions | Keys | Principal | Scope.Scope
> =>
  Effect.gen(function* () {
    const { key } = yield* Effect.orDie((yield* Keys).make("voice"))
    const client = yield* dial({ key: Redacted.make(Redacted.value(key)) })
    client.input({ _tag: "Begin", request: request(fields), bytes: 100 })
    return client
  })

/** A client, and the socket by which the service reaches it. */
export const makeClient = (): TestClient => {
  const events: Array<ServiceEvent> = []
  const audio: Array<Buffer> = []
  const given = new Set<number>()
  const waiting = new Set<() => void>()
  const early: Array<ClientInput> = []
  const ended = Deferred.makeUnsafe<CloseReason>()
  let receive: ((input: ClientInput) => void) | null = null
  let closed: CloseReason | null = null
  let paused = false

  const input = (each: ClientInput): void => {
    if (closed !== null) return
    if (receive === null) early.push(each)
    else receive(each)
  }
  const take = <Tag extends ServiceEvent["_tag"]>(tag: Tag) => {
    const isIt = (event: ServiceEvent | undefined): event is Extract<ServiceEvent, { _tag: Tag }> => event?._tag === tag
    const place = events.findIndex((event, index) => event._tag === tag && !given.has(index))
    const found = events[place]
    if (!isIt(found)) return undefined
    given.add(place)
    return found
  }
  return {
    events,
    audio: () => Buffer.concat(audio),
    input,
    send: (frame) => input({ _tag: "Frame", frame, bytes: JSON.stringify(frame).length }),
    speak: (bytes) => input({ _tag: "Audio", audio: bytes }),
    leave: () => input({ _tag: "Gone" }),
    closed: () => closed,
    end: Deferred.await(ended),
    isPaused: () => paused,
    next: (tag) =>
      Effect.callback((resume) => {
        const look = () => {
          const found = take(tag)
          if (found === undefined) return
          waiting.delete(look)
          resume(Effect.succeed(found))
        }
        waiting.add(look)
        look()
        return Effect.sync(() => waiting.delete(look))
      }),
    socket: {
      send: (event) => {
        if (closed !== null) return
        events.push(event)
        for (const look of waiting) look()
      },
      sendAudio: (_itemId, base64) => {
        audio.push(Buffer.from(Buffer.from(base64).toString("latin1"), "base64"))
      },
      dropAudio: () => {},
      pause: () => {
        paused = true
      },
      resume: () => {
        paused = false
      },
      close: (reason) => {
        closed = reason
        Deferred.doneUnsafe(ended, Effect.succeed(reason))
      },
      listen: (listener) => {
        receive = listener
        for (const each of early.splice(0)) listener(each)
      }
    }
  }
}

/**
 * A voice session for a test, without a socket: a kernel over in-memory stores, a scripted voice model, and clients that are two arrays.
 * Time is the test's. `layer` makes the service; `connect` is a client with the key of an owner.
 */
import { type HostedTool, HostedTools, InvalidKey, Kernel, Keys, type Principal, Providers } from "@colloquy/core"
import {
  type ClientFrame,
  type ClientInput,
  type ClientSocket,
  type CloseReason,
  type Credentials,
  layer as realtimeLayer,
  nothingSelected,
  RealtimeModels,
  RealtimeSessions,
  type ServiceEvent,
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
import * as InMemory from "../in-memory/InMemory.ts"
import type { VoiceBeat } from "./RealtimeScript.ts"
import { make, type ScriptedRealtimeModel, type ScriptedRealtimeOptions } from "./ScriptedRealtime.ts"

/** The scripted model of a test. */
export class ScriptedVoice extends Context.Service<ScriptedVoice, ScriptedRealtimeModel>()(
  "@colloquy/adapters/scripted/ScriptedVoice"
) {}

export type Services =
  | Providers
  | RealtimeSessions
  | Tickets
  | ScriptedVoice
  | RealtimeModels
  | Kernel.Kernel
  | InMemory.Stores

export interface TestRealtimeOptions extends ScriptedRealtimeOptions {
  /** Two services over one state are two processes over one database. Absent: a state of its own. */
  readonly state?: InMemory.State
  readonly hosted?: ReadonlyArray<HostedTool>
  /** For what a session asks beside its voice model, such as learning. Absent: none. */
  readonly providers?: Layer.Layer<Providers>
  /** What joins the sessions: `layerMemory`, `documentsPart`, parts of the host's own. */
  readonly parts?: Layer.Layer<never, never, Kernel.Kernel | Providers | InMemory.Stores>
  /** Takes the place of the store over the state: one that fails, for instance. */
  readonly sessionStore?: Layer.Layer<SessionStore>
}

/** One list of beats for each session. */
export const layer = (
  sessions: ReadonlyArray<ReadonlyArray<VoiceBeat>>,
  options: TestRealtimeOptions = {}
): Layer.Layer<Services> => {
  const voice = Layer.effect(ScriptedVoice, make(sessions, options))
  const models = Layer.unwrap(Effect.map(ScriptedVoice, ({ model }) => RealtimeModels.layer([model])))
  return Layer.mergeAll(realtimeLayer, HostedTools.tools(options.hosted ?? []), options.parts ?? Layer.empty).pipe(
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

export interface TestClient {
  /** Everything that the service has sent, audio aside. */
  readonly events: ReadonlyArray<ServiceEvent>
  /** The next event of this kind that no call of `next` has given yet; waits for it. */
  readonly next: <Tag extends ServiceEvent["_tag"]>(tag: Tag) => Effect.Effect<Extract<ServiceEvent, { _tag: Tag }>>
  readonly audio: () => Uint8Array
  readonly send: (frame: ClientFrame) => void
  readonly speak: (audio: Uint8Array) => void
  /** Anything else that a connection may bring. */
  readonly input: (input: ClientInput) => void
  /** The connection breaks. */
  readonly leave: () => void
  /** How the service has closed; null while it has not. */
  readonly closed: () => CloseReason | null
  /** Waits until it has. */
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

/** A connection that is served, on which the client has sent nothing yet. */
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

/** A client of the principal, with its first frame. */
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

/** A client and the socket that the service holds of it. */
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

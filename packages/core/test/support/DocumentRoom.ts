/**
 * A kernel with documents for tests: an extractor that reads plain text, an embedding model that counts letters, and both can be told to
 * fail. Several kernels may stand over one storage, as processes over one database; one of them may die at a chosen write.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { scripted, type ScriptStep } from "@colloquy/testing"
import { Kernel, type ModelInfo, type Provider, Providers, ThreadId } from "@colloquy/core"
import {
  AssistantStore,
  type ChatRequest,
  firstPage,
  FollowUpStore,
  ModelError,
  noUsage
} from "@colloquy/core/adapters"
import { BlobStore, Documents, type DocumentSettings, DocumentStore, TextExtractor } from "@colloquy/core/documents"
import { ChunkIndex, unknownPosition, type Retrieval, Reranker, type RerankerPort } from "@colloquy/core/retrieval"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

export type Storage = InMemory.Stores | ChunkIndex
export type Services = Documents | Kernel.Kernel | Retrieval | Storage

export interface RoomOptions {
  readonly extract?: typeof TextExtractor.Service.extract
  readonly embed?: NonNullable<Provider["embedding"]>["embed"]
  readonly steps?: ReadonlyArray<ScriptStep>
  /** What is known of the conversation model. */
  readonly info?: Partial<ModelInfo>
  readonly settings?: Partial<DocumentSettings>
  readonly reranker?: RerankerPort
  /** Receives what the conversation model is asked. */
  readonly asked?: Array<ChatRequest>
}

export const byteStream = (text: string): Stream.Stream<Uint8Array> => Stream.make(new TextEncoder().encode(text))

export const documentsIn = (threadId: string) =>
  DocumentStore.use((store) => store.list({ threadId: ThreadId.make(threadId) }, firstPage))

/** The text of a file as one section. */
export const readText: typeof TextExtractor.Service.extract = ({ bytes }) =>
  Effect.map(Stream.mkUint8Array(bytes), (all) => [
    { ...unknownPosition, form: "prose" as const, text: new TextDecoder().decode(all) }
  ])

/** How often each letter stands in a text. */
const letters = (text: string): Float32Array => {
  const vector = new Float32Array(26).fill(0.01)
  for (const letter of text.toLowerCase()) {
    const at = letter.charCodeAt(0) - 97
    if (at >= 0 && at < 26) vector[at] = (vector[at] ?? 0) + 1
  }
  return vector
}

export const embedLetters: NonNullable<RoomOptions["embed"]> = ({ texts }) =>
  Effect.succeed({ vectors: texts.map(letters), usage: noUsage })

export const away = new ModelError({ reason: "overloaded", provider: "scripted", model: "letters" })

const roomProviders = ({ asked, embed, info = {}, steps = [] }: RoomOptions) => {
  const { chat, ...rest } = scripted(steps, { info })
  const model: Provider =
    chat === undefined ? rest : { ...rest, chat: (request) => (asked?.push(request), chat(request)) }
  const embedding = { maxTexts: 16, maxCharacters: 100_000 }
  const provider: Provider =
    embed === undefined
      ? model
      : {
          ...model,
          embedding: { ...embedding, embed },
          defaultEmbedding: { model: "letters", dimensions: 26 }
        }
  return Providers.layer({ providers: [provider], defaults: { provider: "scripted", model: "scripted-model" } })
}

export const roomOver = <E>(storage: Layer.Layer<Storage, E>, options: RoomOptions = {}): Layer.Layer<Services, E> => {
  const extractor = Layer.succeed(TextExtractor, { readable: ["txt"], extract: options.extract ?? readText })
  return Layer.orDie(Documents.layer(options.settings)).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide([
      roomProviders(options),
      extractor,
      Logger.layer([]),
      Layer.succeed(Reranker, options.reranker ?? null)
    ]),
    Layer.provideMerge(storage),
    Layer.fresh
  )
}

/** Storage in memory that several kernels may share. */
export const memoryStorage = Effect.gen(function* () {
  const state = InMemory.makeState()
  const index = yield* Layer.build(InMemory.layerChunkIndex)
  return { state, storage: Layer.merge(InMemory.layerFrom(state), Layer.succeedContext(index)) }
})

/** A kernel as a process of its own, on the test's clock, which has looked for old work already. */
export const openRoom = Effect.fnUntraced(function* (storage: Layer.Layer<Storage>, options: RoomOptions = {}) {
  const scope = yield* Scope.fork(yield* Scope.Scope)
  const services = yield* Layer.buildWithScope(roomOver(storage, options), scope)
  yield* TestClock.adjust("1 millis")
  return {
    run: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideContext(effect, services),
    close: Scope.close(scope, Exit.void)
  }
})

const writes = new Set([
  "insert",
  "insertDraft",
  "publish",
  "put",
  "add",
  "beginAttempt",
  "report",
  "finish",
  "remove",
  "copy",
  "complete",
  "fail"
])

/** Storage over which the process dies with its n-th write: that one is done, and nothing that is called answers any more. */
export const doomedStorage = (storage: Layer.Layer<Storage>, at: number) => {
  const buried = Deferred.makeUnsafe<never>()
  const died = Deferred.makeUnsafe<void>()
  let written = 0
  const isDead = () => written >= at
  /** Decoder: the wrapped service has the operations of the one that it wraps. */
  const mortal = <S extends object>(service: S): S =>
    new Proxy(service, {
      get(target, name) {
        const operation: unknown = Reflect.get(target, name)
        if (typeof operation !== "function") return operation
        return (...args: ReadonlyArray<unknown>) => {
          if (isDead()) return Deferred.await(buried)
          const called: unknown = Reflect.apply(operation, target, args)
          if (!Effect.isEffect(called)) return called
          return Effect.flatMap(
            Effect.suspend((): Effect.Effect<unknown, unknown, unknown> =>
              isDead() ? Deferred.await(buried) : called
            ),
            (answer) => {
              if (writes.has(String(name)) && ++written === at) Deferred.doneUnsafe(died, Effect.void)
              return isDead() ? Deferred.await(buried) : Effect.succeed(answer)
            }
          )
        }
      }
    })
  const stores = Layer.mergeAll(
    Layer.effect(AssistantStore, AssistantStore.useSync(mortal)),
    Layer.effect(BlobStore, BlobStore.useSync(mortal)),
    Layer.effect(ChunkIndex, ChunkIndex.useSync(mortal)),
    Layer.effect(DocumentStore, DocumentStore.useSync(mortal)),
    Layer.effect(FollowUpStore, FollowUpStore.useSync(mortal))
  ).pipe(Layer.provideMerge(storage))
  return {
    stores,
    died: Deferred.await(died),
    isDead,
    bury: Effect.asVoid(Deferred.die(buried, new Error("The process is dead.")))
  }
}

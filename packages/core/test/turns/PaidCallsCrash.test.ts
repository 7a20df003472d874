/**
 * A process dies at any of its writes in a turn that pays vendors: a picture, and a vector for the question. Every call that reached a vendor
 * is charged, with its cost or with unknown usage, and a turn that is complete has its picture.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Crash } from "@colloquy/testing"
import {
  Assistants,
  Kernel,
  Principal,
  type Provider,
  Providers,
  readSupplement,
  Threads,
  TurnParts,
  Turns,
  type TurnPart
} from "@colloquy/core"
import { type ChatEvent, type ChatRequest, firstPage, noUsage, paid, UsageLedger } from "@colloquy/core/adapters"
import { BlobStore, DocumentStore } from "@colloquy/core/documents"
import { Images, mediaIn } from "@colloquy/core/media"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { cost, painted, png, withImages } from "../media/Painter.ts"
import { quiet } from "../support/Story.ts"

/** Which vendors were reached. */
type Deeds = Array<"image" | "embedding">

const finished: ChatEvent = { _tag: "Finished", reason: "stop", model: null, providerData: null }

const answer = ({ messages }: ChatRequest): ReadonlyArray<ChatEvent> =>
  messages.some(({ role }) => role === "tool")
    ? [{ _tag: "TextDelta", text: "Here it is." }, finished]
    : [
        { _tag: "ToolCallStart", id: "c", name: "generate_image" },
        { _tag: "ToolCallReady", call: { id: "c", name: "generate_image", arguments: '{"prompt":"A fox"}' } },
        finished
      ]

const vendor = (deeds: Deeds): Provider => ({
  id: "p",
  chat: (request) => Stream.fromIterable(answer(request)),
  image: {
    generate: () => Effect.as(Effect.sync(() => deeds.push("image")).pipe(Effect.delay("3 seconds")), painted(png(1)))
  },
  embedding: {
    maxTexts: 10,
    maxCharacters: 1_000,
    embed: () =>
      Effect.sync(() => deeds.push("embedding")).pipe(
        Effect.delay("1 second"),
        Effect.as({ vectors: [Float32Array.of(1)], usage: { ...noUsage, inputTokens: 3, costUsd: cost } })
      )
  }
})

/** Embeds the question, as documents and memories do. */
const asker = (provider: Provider): TurnPart<null> => ({
  name: "asker",
  plan: Schema.Null,
  decide: ({ options }) => Effect.succeed(options === undefined ? null : { plan: null }),
  recall: (_, turn) => {
    const payee = { provider: "p", model: "v", purpose: "embedding" }
    const request = {
      provider: "p",
      model: "v",
      dimensions: null,
      texts: ["?"],
      purpose: "query",
      apiKey: null
    } as const
    return paid(turn.beginCharge, {
      payee,
      call: provider.embedding?.embed(request) ?? Effect.die("none"),
      charges: ({ usage }) => [{ ...payee, usage }]
    }).pipe(Effect.as([]))
  }
})

const kernelLayer = (doom: Crash.Doom, state: InMemory.State, deeds: Deeds) => {
  const provider = doom.provider(vendor(deeds))
  const documents = Layer.effect(
    DocumentStore,
    DocumentStore.useSync((store) => ({ ...store, insert: (...args) => doom.write(store.insert(...args)) }))
  )
  const blobs = Layer.effect(
    BlobStore,
    BlobStore.useSync((store) => ({ ...store, put: (...args) => doom.write(store.put(...args)) }))
  )
  const stores = InMemory.layerFrom(state)
  return Layer.mergeAll(Images.layer(), TurnParts.part(asker(provider))).pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(Layer.mergeAll(documents, blobs, doom.stores(stores)).pipe(Layer.provide(stores))),
    Layer.provide(Providers.layer({ providers: [provider], defaults: { provider: "p", model: "m" } })),
    Layer.fresh,
    Layer.merge(quiet)
  )
}

const openThread = Effect.gen(function* () {
  const assistants = yield* Assistants
  const { id } = yield* assistants.create({ name: "a" })
  return (yield* assistants.createThread(id, null)).id
})

/** Whole turns cost nothing that is estimated: every vendor said what it took. */
const chargesIn = UsageLedger.use((ledger) =>
  Effect.map(ledger.recent(firstPage), ({ days }) =>
    days.flatMap(({ purpose, usage }) => (purpose === "chat" ? [] : [{ purpose, usage }]))
  )
)

const live = Effect.fnUntraced(function* (point: Crash.CrashPoint) {
  const state = InMemory.makeState()
  const deeds: Deeds = []
  const doom = yield* Crash.make(point)
  const scope = yield* Scope.make()
  const services = yield* Layer.buildWithScope(kernelLayer(doom, state, deeds), scope)
  const threadId = yield* Effect.provideContext(openThread, services)
  const before = doom.writes()
  const options = { ...withImages(), image: { provider: "p", model: "oil" }, asker: {} }
  const turn = Turns.use((turns) => turns.send({ content: "Paint a fox.", threadId, options }))
  const client = yield* Effect.forkDetach(Effect.provideContext(turn, services), { startImmediately: true })
  yield* TestClock.adjust("10 seconds")
  return { before, client, deeds, doom, scope, services, state, threadId }
})

describe("a process that dies in a turn that pays vendors", () => {
  for (const hears of [true, false]) {
    it.effect(`loses neither a charge nor a picture (it hears of its last write: ${hears})`, () =>
      Effect.gen(function* () {
        const whole = yield* live({})
        assert.deepStrictEqual(whole.deeds, ["embedding", "image"])
        const charged = yield* Effect.provideContext(chargesIn, whole.services)
        assert.deepStrictEqual(
          charged.map(({ purpose, usage }) => [purpose, usage.costUsd, usage.estimated]),
          [
            ["image", cost, false],
            ["embedding", cost, false]
          ]
        )
        const writes = whole.doom.writes()
        yield* Scope.close(whole.scope, Exit.void)
        // Begun, the vector noted, the picture noted, its bytes, its record, settled.
        assert.isAbove(writes - whole.before, 5)

        for (let at = whole.before + 1; at <= writes; at++) {
          const { client, deeds, doom, scope, state, threadId } = yield* live({ at, hears })
          assert.isTrue(doom.isDead(), `write ${at}`)
          const nextScope = yield* Scope.make()
          const next = yield* Layer.buildWithScope(kernelLayer(yield* Crash.make(), state, []), nextScope)
          yield* TestClock.adjust("50 seconds")
          yield* Effect.gen(function* () {
            const charges = yield* chargesIn
            // What reached a vendor is charged; what did not may be charged as unknown, and costs nothing.
            for (const purpose of deeds)
              assert.include(
                charges.map((charge) => charge.purpose),
                purpose,
                `write ${at}`
              )
            for (const { purpose, usage } of charges) {
              if (usage.costUsd === null) assert.isTrue(usage.estimated, `write ${at}`)
              else assert.include(deeds, purpose, `write ${at}`)
            }
            const { messages } = yield* Threads.use((threads) => threads.get(threadId))
            for (const message of messages.filter(
              ({ role, status }) => role === "assistant" && status === "COMPLETED"
            )) {
              const [picture] = mediaIn(readSupplement(message, "image")?.value)
              assert.isDefined(picture, `no picture after write ${at}`)
              const found = picture && (yield* DocumentStore.use((store) => store.get(picture.documentId)))
              const document = Option.getOrThrow(found ?? Option.none())
              assert.isTrue(Option.isSome(yield* BlobStore.use((store) => store.head(document.blobId))))
            }
          }).pipe(Effect.provideContext(next))
          yield* doom.bury
          yield* Scope.close(scope, Exit.void)
          yield* Scope.close(nextScope, Exit.void)
          client.interruptUnsafe()
        }
      }).pipe(Principal.provide("ada"), Effect.provide(quiet))
    )
  }
})

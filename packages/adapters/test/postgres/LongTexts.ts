/** What a store does with texts of any length in its keys, and with numbers beyond its range. */
import {
  AssistantStore,
  contentRefused,
  FollowUpId,
  FollowUpStore,
  newId,
  RunStore,
  type Stores,
  UsageLedger
} from "@colloquy/core/adapters"
import {
  anHour,
  asNewOwner,
  expectTag,
  moment,
  openThread,
  sampleAssistant,
  sampleBegin,
  sampleSettlement,
  sampleUsage,
  startTurn
} from "@colloquy/testing/contracts"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"

/** Twenty thousand characters that no compression makes short, and that differ in the last one only. */
const longText = (last: string): string => {
  let state = 1
  const next = () => (state = (state * 48_271) % 2_147_483_647)
  return Array.from({ length: 20_000 }, () => String.fromCodePoint(0x4e00 + (next() % 20_000))).join("") + last
}

const firstPage = { skip: 0, limit: 10 }

export const longTextSuite = (name: string, stores: Layer.Layer<Stores | FollowUpStore, unknown>): void =>
  layer(stores, { excludeTestServices: true })(name, (it) => {
    it.effect("an idempotency key of any length finds its run, and another one does not", () =>
      asNewOwner(
        Effect.gen(function* () {
          const runs = yield* RunStore
          const { id } = yield* openThread
          const keyed = (key: string) => sampleBegin(id, { idempotency: { key, fingerprint: "" }, mode: "enqueue" })
          const first = yield* keyed(longText("a"))
          expectTag(yield* runs.begin(first), "Started")
          assert.strictEqual(expectTag(yield* runs.begin(yield* keyed(longText("a"))), "Repeated").runId, first.run.id)
          expectTag(yield* runs.begin(yield* keyed(longText("b"))), "Queued")
          assert.isTrue(Option.isSome(yield* runs.findRepeated(longText("b"))))
          assert.isTrue(Option.isNone(yield* runs.findRepeated(longText("c"))))
        })
      )
    )

    it.effect("an assistant is found by a name of any length", () =>
      asNewOwner(
        Effect.gen(function* () {
          const store = yield* AssistantStore
          for (const last of ["a", "b"]) yield* store.insert(yield* sampleAssistant({ name: longText(last) }))
          const found = yield* store.list(firstPage, longText("b"))
          assert.deepStrictEqual(
            found.map((assistant) => assistant.name),
            [longText("b")]
          )
        })
      )
    )

    it.effect("a model's name of any length is charged under its name", () =>
      asNewOwner(
        Effect.gen(function* () {
          const turn = yield* startTurn((yield* openThread).id)
          const charges = ["a", "b", "a"].map((last) => ({
            provider: longText("p"),
            model: longText(last),
            purpose: "chat",
            usage: sampleUsage(1, 0)
          }))
          const settlement = yield* sampleSettlement(turn, { model: longText("a"), charges })
          assert.isTrue(yield* (yield* RunStore).settle(turn.lease, settlement))
          const { days } = yield* (yield* UsageLedger).recent(firstPage)
          assert.deepStrictEqual(
            days.map(({ model, usage }) => [model.at(-1), usage.inputTokens]),
            [
              ["a", 2],
              ["b", 1]
            ]
          )
        })
      )
    )

    it.effect("a follow-up has a key and a sequence of any length", () =>
      asNewOwner(
        Effect.gen(function* () {
          const store = yield* FollowUpStore
          const kind = yield* newId(FollowUpId)
          for (const last of ["a", "b", "a"]) {
            const id = yield* newId(FollowUpId)
            const texts = { kind, key: longText(last), payload: {}, sequence: longText(last) }
            yield* store.add([{ id, ...texts, delayMillis: 0, createdAt: moment(0) }])
          }
          const claims = yield* store.claim([kind], 10, anHour)
          assert.deepStrictEqual(
            claims.map(({ followUp }) => followUp.key.at(-1)),
            ["a", "b"]
          )
        })
      )
    )

    it.effect("what cannot be stored is told apart from a store that is away, and leaves the run as it was", () =>
      asNewOwner(
        Effect.gen(function* () {
          const runs = yield* RunStore
          const turn = yield* startTurn((yield* openThread).id)
          for (const tokens of [2e19, 1e300, Number.NaN, 1.5]) {
            const tooMuch = yield* sampleSettlement(turn, { usage: sampleUsage(tokens, 0) })
            const exit = yield* Effect.exit(runs.settle(turn.lease, tooMuch))
            const refused = Exit.isFailure(exit) ? contentRefused(exit.cause) : undefined
            assert.strictEqual(refused?.operation, "RunStore.settle", `${tokens} tokens`)
          }
          assert.isTrue(yield* runs.settle(turn.lease, yield* sampleSettlement(turn)))
        })
      )
    )
  })

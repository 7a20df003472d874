/** A running summary of what falls out of the window, in virtual time. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { type Beat, ScriptedModel, TestKernel } from "@colloquy/testing"
import { Billing, FollowUps, Principal, Providers, type ThreadId, Turns } from "@colloquy/core"
import { AssistantStore, type ChatRequest } from "@colloquy/core/adapters"
import { Summaries, type SummarySettingsPort } from "@colloquy/core/summaries"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"

/** Of a hundred tokens. */
const long = (about: string) => `${about} ${"word ".repeat(80)}`

const isQuestion = ({ system }: ChatRequest): boolean => system?.startsWith("You keep the running summary") === true

const messagesJson = ({ messages }: ChatRequest): string => JSON.stringify(messages)

/** Another kernel over the same state is another process over one database. */
const kernel = (
  state: InMemory.State,
  otherwise: Beat,
  settings: Partial<SummarySettingsPort> = {},
  contextLimit = 1_000
) =>
  Summaries.layer(settings).pipe(
    Layer.provideMerge(
      Layer.unwrap(
        Effect.map(ScriptedModel, ({ provider }) =>
          Providers.layer({
            providers: [provider],
            defaults: { provider: provider.id, model: `${provider.id}-model` }
          })
        )
      )
    ),
    Layer.provideMerge(
      TestKernel.layer([], {
        stores: InMemory.layerFrom(state),
        model: { otherwise, info: { contextLimit, maxOutputTokens: 100 } }
      })
    ),
    Layer.fresh
  )

const answer = (text: string): Beat => ({ _tag: "Text", deltas: [text] })

/** Turns until the prompts have lost sight of the first ones; the summaries are written between them. */
const talk = Effect.fnUntraced(function* (count: number, threadId?: ThreadId) {
  const turns = yield* Turns
  let thread = threadId
  for (let n = 0; n < count; n++) {
    const place = thread === undefined ? {} : { threadId: thread }
    const reply = yield* turns.send({
      content: long(n === 0 && threadId === undefined ? "My dog is Rex." : `${n}`),
      ...place
    })
    thread = reply.threadId
    yield* TestClock.adjust("1 second")
  }
  return thread
})

const storedSummary = Effect.fnUntraced(function* (threadId: ThreadId | undefined) {
  if (threadId === undefined) return yield* Effect.die("There is no thread.")
  return Option.getOrThrow(yield* (yield* AssistantStore).ofThread(threadId)).summary
})

const requests = Effect.map(ScriptedModel, (model) => model.requests)

describe("a running summary", () => {
  const asOwner = Principal.provide("owner")

  it.effect("keeps a fact that fell out of the window, is counted, and is charged", () =>
    Effect.gen(function* () {
      const threadId = yield* talk(14)
      const asked = yield* requests
      const first = asked.filter(isQuestion)[0]
      assert.include(first === undefined ? "" : messagesJson(first), "My dog is Rex.")
      const last = asked.filter((request) => !isQuestion(request)).at(-1)
      const read = last === undefined ? "" : messagesJson(last)
      assert.notInclude(read, "My dog is Rex.")
      assert.include(read, "The dog is called Rex.")
      const reply = yield* (yield* Turns).send({ content: "And now?", ...(threadId && { threadId }) })
      assert.isAbove(reply.contextUsage?.summaryTokens ?? 0, 0)
      const { days } = yield* (yield* Billing).recentUsage({ limit: 10, skip: 0 })
      assert.includeMembers(
        days.map(({ purpose }) => purpose),
        ["summary"]
      )
    }).pipe(asOwner, Effect.provide(kernel(InMemory.makeState(), answer("The dog is called Rex."))))
  )

  it.effect("leaves the beginning of the prompt as it is, byte for byte, while the window stays where it is", () =>
    Effect.gen(function* () {
      yield* talk(60)
      const asked = yield* requests
      const prompts = asked.filter((request) => !isQuestion(request)).map(({ messages }) => messages)
      const changes = prompts.slice(1).filter((messages, before) => {
        const earlier = prompts[before] ?? []
        return JSON.stringify(messages.slice(0, earlier.length)) !== JSON.stringify(earlier)
      })
      const questions = asked.filter(isQuestion)
      assert.isAbove(questions.length, 1)
      // The beginning changes with a new summary, and when the window moves on.
      assert.isAtMost(changes.length, 2 * questions.length)
      assert.isAbove(prompts.length, 3 * questions.length)
      const second = questions[1]
      assert.include(second === undefined ? "" : messagesJson(second), "The summary so far:\\nThe dog is called Rex.")
    }).pipe(asOwner, Effect.provide(kernel(InMemory.makeState(), answer("The dog is called Rex."), {}, 4_000)))
  )

  for (const contextLimit of [1_000, 2_000, 4_000]) {
    it.effect(
      `is there before the window of ${contextLimit} tokens moves on: each message is in the prompt or in the summary`,
      () =>
        Effect.gen(function* () {
          yield* talk(50)
          const covered = new Set<string>()
          let moved = 0
          let count = 0
          for (const request of yield* requests) {
            const found = [...messagesJson(request).matchAll(/(?:user: |"text":")(\d+|My dog is Rex\.) word/gu)]
            const said = new Set(found.flatMap(([, about = ""]) => about))
            if (isQuestion(request)) {
              for (const each of said) covered.add(each)
              continue
            }
            const all = ["My dog is Rex.", ...Array.from({ length: count++ }, (_, n) => `${n + 1}`)]
            assert.deepStrictEqual(
              all.filter((each) => !said.has(each) && !covered.has(each)),
              []
            )
            moved += Number(said.size < all.length)
          }
          assert.isAbove(moved, 5)
        }).pipe(asOwner, Effect.provide(kernel(InMemory.makeState(), answer("They talked."), {}, contextLimit)))
    )
  }

  it.effect("is written by one process and read by the other", () => {
    const state = InMemory.makeState()
    return Effect.gen(function* () {
      const threadId = yield* Effect.provide(talk(14), kernel(state, answer("The dog is called Rex.")))
      yield* Effect.gen(function* () {
        assert.strictEqual((yield* storedSummary(threadId))?.text, "The dog is called Rex.")
        yield* talk(1, threadId)
        const [request] = yield* requests
        assert.include(request === undefined ? "" : messagesJson(request), "The dog is called Rex.")
      }).pipe(Effect.provide(kernel(state, answer("Another."))))
    }).pipe(asOwner)
  })

  it.effect("that no model writes harms no turn, and waits as a dead follow-up", () =>
    Effect.gen(function* () {
      const threadId = yield* talk(14)
      assert.isNull(yield* storedSummary(threadId))
      yield* TestClock.adjust("1 hour")
      assert.isAbove((yield* (yield* FollowUps).dead({ limit: 10, skip: 0 })).length, 0)
    }).pipe(
      asOwner,
      Effect.provide(
        kernel(InMemory.makeState(), answer("An answer."), { writer: { provider: "nobody", model: "none" } })
      )
    )
  )

  it.effect("is off without its layer", () =>
    Effect.gen(function* () {
      const threadId = yield* talk(14)
      assert.isNull(yield* storedSummary(threadId))
      assert.isFalse((yield* requests).some(isQuestion))
    }).pipe(
      asOwner,
      Effect.provide(
        TestKernel.layer([], {
          model: { otherwise: answer("An answer."), info: { contextLimit: 1_000, maxOutputTokens: 100 } }
        })
      )
    )
  )
})

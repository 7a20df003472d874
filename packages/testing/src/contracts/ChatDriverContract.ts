/**
 * The contract of `ChatDriver` and `ChatEvent`, in the terms of the port. The suite calls a driver only through the port, and controls the
 * provider behind it (a server that speaks the provider's wire) through `ChatVendor`.
 */
import {
  type ChatDriver,
  type ChatEvent,
  type ChatRequest,
  describeModel,
  type ModelError
} from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { textForUsers } from "./TextForUsers.ts"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import {
  answersInWords,
  answersWithCalls,
  type ChatAnswer,
  type ChatScenario,
  type HeardAnswer,
  refusalReasons,
  type Said,
  unfinishedAnswers
} from "./ChatScenarios.ts"

/** A driver with a vendor that plays what a test tells it. */
export interface ChatVendor {
  /** With the host's key `sk-of-the-host`. */
  readonly driver: ChatDriver
  readonly model: string
  /** Each call answers one request, in the order of the calls. The text of a refusal contains `sk-of-the-host` and `a secret`. */
  readonly answers: (answer: ChatAnswer) => void
  /** Says this and then nothing more. `left` completes when the connection is closed. */
  readonly hangs: (says: ReadonlyArray<Said>) => {
    readonly asked: Effect.Effect<void>
    readonly left: Effect.Effect<void>
  }
  /** How many requests have arrived. */
  readonly requests: () => number
  /** Absent: the driver has no wire, as a scripted model. */
  readonly wire?: {
    /** The headers with the keys of all requests. */
    readonly keys: () => ReadonlyArray<string>
    /** Answers one request with status 200 and this body. */
    readonly sends: (contentType: string, body: string) => void
    /** Writes one line without an end. Absent: a library of the host reads the wire. */
    readonly neverEnds?: () => void
  }
}

/** The scenarios that the vendor cannot have, each with its reason. */
export interface ChatSuiteOptions {
  /** Names of scenarios that the wire cannot express, each with the reason. */
  readonly cannot?: { readonly [scenario: string]: string }
}

const provider = "vendor"

/** A request of which nothing but a question is known. */
const requestTo = ({ model }: ChatVendor, fields: Partial<ChatRequest> = {}): ChatRequest => ({
  provider,
  model,
  info: describeModel({ name: model, provider, modelType: "llm" }),
  system: null,
  tools: [],
  toolChoice: "auto",
  messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
  thinking: null,
  routing: null,
  jsonOutput: false,
  maxOutputTokens: null,
  apiKey: null,
  conversationId: "conversation-1",
  ...fields
})

/** The events of one request in their order, and its failure if there is one. */
const listen = (vendor: ChatVendor, fields?: Partial<ChatRequest>) =>
  Effect.gen(function* () {
    const events: Array<ChatEvent> = []
    const stream = vendor.driver(requestTo(vendor, fields))
    const result = yield* Effect.result(Stream.runForEach(stream, (event) => Effect.sync(() => events.push(event))))
    return { events, error: Result.isFailure(result) ? result.failure : null }
  })

const heardIn = (events: ReadonlyArray<ChatEvent>, error: ModelError | null): HeardAnswer => {
  const all = <Tag extends ChatEvent["_tag"]>(tag: Tag) =>
    events.filter((event): event is Extract<ChatEvent, { _tag: Tag }> => event._tag === tag)
  return {
    text: all("TextDelta")
      .map(({ text }) => text)
      .join(""),
    reasoning: all("ReasoningDelta")
      .map(({ text }) => text)
      .join(""),
    calls: all("ToolCallReady").map(({ call }) => call),
    finish: all("Finished").at(-1)?.reason ?? null,
    usage: all("Usage").at(-1)?.usage ?? null,
    error: error?.reason ?? null
  }
}

/** What `ChatEvent` promises about order. */
const expectOrder = (events: ReadonlyArray<ChatEvent>): void => {
  const written = new Map<string, string>()
  const ready = new Set<string>()
  events.forEach((event, index) => {
    if (event._tag === "Finished") assert.strictEqual(index, events.length - 1, "Finished is last")
    if (event._tag === "ToolCallStart") {
      assert.isFalse(written.has(event.id), "a call starts once")
      written.set(event.id, "")
    }
    if (event._tag === "ToolCallDelta") {
      assert.isFalse(ready.has(event.id), "no delta after the call is ready")
      written.set(event.id, `${written.get(event.id) ?? assert.fail("a delta before its start")}${event.arguments}`)
    }
    if (event._tag !== "ToolCallReady") return
    assert.isFalse(ready.has(event.call.id), "a call is ready once")
    ready.add(event.call.id)
    assert.strictEqual(event.call.arguments, written.get(event.call.id) || "{}", "a call is the sum of its deltas")
  })
}

const play = (vendor: ChatVendor, scenario: ChatScenario) =>
  Effect.gen(function* () {
    vendor.answers(scenario.answer)
    const { error, events } = yield* listen(vendor, scenario.request)
    expectOrder(events)
    const heard = heardIn(events, error)
    assert.deepInclude(heard, scenario.heard)
    assert.strictEqual(vendor.requests(), 1)
    return heard
  })

const done: ChatAnswer = { says: [{ text: "Hi" }, { finish: "stop", usage: null }] }

/** What every driver of conversation models must do. */
export const chatDriverSuite = (
  name: string,
  open: Effect.Effect<ChatVendor, never, Scope.Scope>,
  { cannot = {} }: ChatSuiteOptions = {}
): void => {
  describe(`the contract of ChatDriver: ${name}`, () => {
    const possible = (scenarios: ReadonlyArray<ChatScenario>) =>
      scenarios.filter((each) => cannot[each.name] === undefined)

    for (const scenario of possible(answersInWords)) {
      it.effect(`MUST tell ${scenario.name}`, () => Effect.flatMap(open, (vendor) => play(vendor, scenario)))
    }

    for (const scenario of possible(answersWithCalls)) {
      it.effect(`MUST tell ${scenario.name}, from its start to the whole arguments`, () =>
        Effect.flatMap(open, (vendor) => play(vendor, scenario))
      )
    }

    for (const scenario of possible(unfinishedAnswers)) {
      it.effect(`MUST NOT finish an answer that ${scenario.name}`, () =>
        Effect.gen(function* () {
          const { error } = yield* play(yield* open, scenario)
          assert.include([null, "cut_off", "overloaded"], error)
        })
      )
    }

    it.effect("MUST ask once for each run of its stream, and not before", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        const stream = vendor.driver(requestTo(vendor))
        assert.strictEqual(vendor.requests(), 0)
        for (const count of [1, 2]) {
          vendor.answers(done)
          yield* Stream.runDrain(stream)
          assert.strictEqual(vendor.requests(), count)
        }
      })
    )

    for (const reason of refusalReasons) {
      it.effect(
        `MUST fail with ${reason} when the provider says so, after one request, without any text of the provider`,
        () =>
          Effect.gen(function* () {
            const vendor = yield* open
            vendor.answers({ refusesWith: reason, headers: { "retry-after": "7" } })
            const { error, events } = yield* listen(vendor)
            assert.deepStrictEqual(events, [])
            assert.deepInclude(error, {
              _tag: "ModelError",
              reason,
              provider,
              model: vendor.model,
              retryAfterMillis: 7000
            })
            assert.notMatch(textForUsers(error), /sk-of-the-host|secret/u)
            assert.notInclude(JSON.stringify(error), "sk-of-the-host")
            assert.strictEqual(vendor.requests(), 1)
          })
      )
    }

    it.effect("MUST close the connection when it is interrupted before the first event", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        const { asked, left } = vendor.hangs([])
        const fiber = yield* Effect.forkChild(Stream.runDrain(vendor.driver(requestTo(vendor))))
        yield* asked
        yield* Fiber.interrupt(fiber)
        yield* left
      })
    )

    it.effect("MUST close the connection when its events are not read to the end", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        const { left } = vendor.hangs([{ text: "a" }, { text: "b" }])
        const texts = vendor.driver(requestTo(vendor)).pipe(
          Stream.filter((event) => event._tag === "TextDelta"),
          Stream.map(({ text }) => text)
        )
        assert.deepStrictEqual(yield* Stream.runCollect(Stream.take(texts, 2)), ["a", "b"])
        yield* left
      })
    )

    it.effect("MUST ask with the customer's own key if there is one", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        if (vendor.wire === undefined) return
        for (const apiKey of [null, Redacted.make("sk-of-the-customer")]) {
          vendor.answers(done)
          yield* Stream.runDrain(vendor.driver(requestTo(vendor, { apiKey })))
        }
        const [first, second] = vendor.wire.keys()
        assert.include(first, "sk-of-the-host")
        assert.include(second, "sk-of-the-customer")
        assert.notInclude(second, "sk-of-the-host")
      })
    )

    for (const [what, contentType, body] of [
      ["a page of HTML with 200", "text/html", "<html>Busy</html>"],
      [
        "JSON of another kind",
        "application/json",
        '{"choices":7,"content":{"a":[1]},"candidates":"x","output":[null]}'
      ],
      [
        "events of another kind",
        "text/event-stream",
        'data: 7\n\ndata: {"choices":[null],"type":[],"candidates":[7]}\n\n'
      ],
      ["events that are no JSON", "text/event-stream", "data: {broken\n\ndata: \ud800\n\n"],
      ["an empty body", "text/event-stream", ""]
    ] as const) {
      it.effect(`MUST NOT finish, and not fail with a defect, on ${what}`, () =>
        Effect.gen(function* () {
          const vendor = yield* open
          if (vendor.wire === undefined) return
          vendor.wire.sends(contentType, body)
          const { error, events } = yield* listen(vendor)
          assert.notInclude(
            events.map(({ _tag }) => _tag),
            "Finished"
          )
          if (error !== null) assert.strictEqual(error._tag, "ModelError")
        })
      )
    }

    it.effect("MUST fail on a line without an end", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        if (vendor.wire?.neverEnds === undefined) return
        vendor.wire.neverEnds()
        assert.strictEqual((yield* listen(vendor)).error?._tag, "ModelError")
      })
    )
  })
}

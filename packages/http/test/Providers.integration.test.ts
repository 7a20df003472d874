/**
 * A whole conversation with every provider over HTTP: the web handler, the kernel, the stores, the driver, and a server that speaks the
 * vendor's wire. Two rounds of tools, as JSON and as a stream; everything that was said is in the last request, in its order; keys, failures,
 * a second try, and a cancel that reaches the vendor's socket..
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import * as OpenAiCompatible from "@colloquy/adapters/openai-compatible"
import { Kernel, Principal, ProviderKeys, Providers } from "@colloquy/core"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as FakeVendor from "../../adapters/test/providers/FakeVendor.ts"
import type { Said } from "@colloquy/testing/contracts"
import { model, usage } from "../../adapters/test/providers/Scenarios.ts"
import type { Vendor } from "../../adapters/test/providers/Vendor.ts"
import { vendors } from "../../adapters/test/providers/Vendors.ts"
import { openAi } from "../../adapters/test/providers/vendors/OpenAiChat.ts"
import { webHandler } from "../src/index.ts"
import { allEvents, type Answer, named, readEvents, type SseEvent, tool } from "./Service.ts"

/** A preset of the dialect that wants its reasoning back. */
const deepSeek: Vendor = {
  ...openAi,
  name: "a preset of the dialect",
  provider: ({ server, ...settings }) =>
    OpenAiCompatible.provider({ ...OpenAiCompatible.deepSeek, ...settings, baseUrl: `${server}/v1` })
}

interface Case {
  readonly vendor: Vendor
  /** What the vendor gave with its first answer and must get back in each later request. */
  readonly replayed: string | null
  /** Where the wire of a request says how much to think. */
  readonly effort: string | null
  /** What a router's answer costs, and how it says so. */
  readonly costUsd?: number
  readonly embellish?: (frames: string) => string
}

const known = new Map([...vendors, deepSeek].map((vendor) => [vendor.name, vendor]))

const about = (name: string, rest: Omit<Case, "vendor">): Case => ({
  vendor: known.get(name) ?? assert.fail(`no vendor ${name}`),
  ...rest
})

/** The router signs thoughts and tells what each answer cost. */
const ofTheRouter = (frames: string): string =>
  frames
    .replaceAll('"usage":{', '"usage":{"cost":0.25,')
    .replaceAll(/"delta":\{"reasoning":("[^"]*")\}/gu, (_, text) => {
      const detail = `{"type":"reasoning.text","text":${text},"signature":"c2ln","index":0}`
      return `"delta":{"reasoning":${text},"reasoning_details":[${detail}]}`
    })

const cases: ReadonlyArray<Case> = [
  about("OpenAI Chat", { replayed: null, effort: '"reasoning_effort":"high"' }),
  about("OpenAI Responses", { replayed: "opaque-item_0", effort: '"reasoning":{"effort":"high"' }),
  about("Anthropic", { replayed: "c2ln", effort: '"effort":"high"' }),
  about("Gemini", { replayed: "c2ln", effort: '"thinkingLevel":"HIGH"' }),
  about("OpenRouter", {
    replayed: "c2ln",
    effort: '"reasoning":{"effort":"high"}',
    costUsd: 0.25,
    embellish: ofTheRouter
  }),
  about("a local server", { replayed: null, effort: '"reasoning_effort":"high"' }),
  about("a preset of the dialect", { replayed: "What about Bern?", effort: '"reasoning_effort":"high"' }),
  about("a model of the AI SDK", { replayed: null, effort: '"reasoning_effort":"high"' }),
  // Reasoning is for the host to configure there.
  about("a model of effect/ai", { replayed: "c2ln", effort: null })
]

const keyOfBob = "sk-of-bob"

/** Ada uses the host's key, Bob has brought his own. */
const customersKeys = Layer.succeed(ProviderKeys, {
  find: () => Effect.map(Principal, ({ ownerId }) => (ownerId === "bob" ? Redacted.make(keyOfBob) : null))
})

const setUp = ({ embellish = (frames) => frames, vendor }: Case) =>
  Effect.gen(function* () {
    const fake = yield* FakeVendor.make
    const settings = { server: fake.baseUrl, apiKey: Redacted.make("sk-of-the-host") }
    const { listModels: _, ...provider } = vendor.provider(settings)
    const kernel = Kernel.layer.pipe(
      Layer.provide(Providers.layer({ providers: [provider], defaults: { provider: provider.id, model } })),
      Layer.provide([InMemory.layer, customersKeys])
    )
    const authenticate = ({ authorization }: { readonly authorization: string | null }) => authorization ?? "ada"
    const web = yield* Effect.acquireRelease(
      Effect.sync(() => webHandler({ kernel, authenticate })),
      ({ dispose }) => Effect.promise(dispose)
    )
    const send = (path: string, body: object, owner = "ada") =>
      web.handler(
        new Request(`http://service${path}`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-api-key": "none", authorization: owner },
          body: JSON.stringify(body)
        })
      )
    const renderFrames = (says: ReadonlyArray<Said>) => vendor.render(says).map(embellish)
    return {
      fake,
      send,
      renderFrames,
      says: (...answers: ReadonlyArray<ReadonlyArray<Said>>) =>
        fake.script(vendor.path, ...answers.map((says) => FakeVendor.sse(renderFrames(says)))),
      refuses: (reason: Parameters<Vendor["refuse"]>[0], headers: FakeVendor.Reply["headers"] = {}) => {
        const { body, status } = vendor.refuse(reason)
        fake.script(vendor.path, FakeVendor.json(body, status, headers))
      },
      post: async (path: string, body: object, owner = "ada"): Promise<Pick<Answer, "status" | "body">> => {
        const response = await send(path, body, owner)
        return { status: response.status, body: await response.json() }
      },
      stream: async (path: string, body: object) => {
        const events = await allEvents(await send(path, { ...body, stream: true }))
        return { events, end: events.at(-1)?.data ?? assert.fail("an empty stream") }
      }
    }
  })

type Stage = Effect.Success<ReturnType<typeof setUp>>

const play = (each: Case, story: (stage: Stage) => Promise<void>) =>
  Effect.gen(function* () {
    const stage = yield* setUp(each)
    yield* Effect.promise(() => story(stage))
    assert.strictEqual(stage.fake.unused(), 0, "answers that nobody fetched")
  })

const calls = (zone: string): ReadonlyArray<Said> => [
  { reasoning: `What about ${zone}?` },
  { text: `Let me look at ${zone}. ` },
  { call: { slot: 0, id: `call_${zone}`, name: "get_time" } },
  { arguments: { slot: 0, text: `{"zone":"${zone}"}` } },
  { finish: "tool_calls", usage }
]

const answer = (text: string): ReadonlyArray<Said> => [{ text }, { finish: "stop", usage }]

const wholeAnswers = [calls("Bern"), calls("Rome"), answer("Ten in both."), answer("You are welcome.")]

const question = {
  content: "What time is it?",
  system_prompt: "Be brief.",
  tools: [tool("get_time")],
  thinking: { effort: "high" }
}

const outputs = (callId: string) => ({ tool_outputs: [{ tool_call_id: callId, output: "10:00" }] })

/** Every call that was sent has its output behind it, once, and everything sent before is sent again unchanged. */
const checkHistories = (histories: ReadonlyArray<ReadonlyArray<unknown>>): void => {
  const sent = histories.map((history) => JSON.stringify(history))
  const times = (text: string, word: string) => text.split(word).length - 1
  assert.deepStrictEqual(
    sent.map((each) => times(each, "10:00")),
    [0, 1, 2, 2],
    "outputs"
  )
  assert.deepStrictEqual(
    sent.map((each) => times(each, "Let me look at ")),
    [0, 1, 2, 2],
    "words before the calls"
  )
  sent.slice(1).forEach((each, index) => {
    assert.isTrue(each.startsWith(sent[index]?.slice(0, -1) ?? "-"), `request ${index + 1} begins with the one before`)
  })
}

/** In the order in which it was said. */
const everythingSaid = [
  "What time is it?",
  "Let me look at Bern.",
  "Let me look at Rome.",
  "Ten in both.",
  "Thank you."
]

/** Outputs by both endpoints, and one more message. */
const jsonConversation = async ({ post }: Stage) => {
  const first = await post("/threads/messages", question)
  const { run_id, thread_id } = first.body
  const place = `/threads/${thread_id}`
  const second = await post(`${place}/runs/${run_id}/submit-tool-outputs`, outputs("call_Bern"))
  const third = await post("/threads/tool-outputs", { thread_id, ...outputs("call_Rome") })
  const fourth = await post(`${place}/messages`, { ...question, content: "Thank you." })
  return [first, second, third, fourth]
}

const streamedConversation = async ({ stream }: Stage) => {
  const first = await stream("/threads/messages", question)
  const { run_id, thread_id } = first.end
  const place = `/threads/${thread_id}`
  const second = await stream(`${place}/runs/${run_id}/submit-tool-outputs?stream=true`, outputs("call_Bern"))
  const third = await stream("/threads/tool-outputs", { thread_id, ...outputs("call_Rome") })
  const fourth = await stream(`${place}/messages`, { ...question, content: "Thank you." })
  return [first, second, third, fourth]
}

const told = (events: ReadonlyArray<SseEvent>, type: string): string =>
  events.map(({ data }) => (data.type === type ? data.content : "")).join("")

const requestBodies = ({ fake }: Stage): string =>
  named()(
    JSON.stringify(
      fake.requests.map(({ body }) => body),
      null,
      2
    )
  )

describe.each(cases.map((each) => [each.vendor.name, each] as const))("%s", (_, each) => {
  const { costUsd = null, effort, replayed, vendor } = each

  it.live("two rounds of tools and on, as JSON", () =>
    play(each, async (stage) => {
      stage.says(...wholeAnswers)
      const replies = await jsonConversation(stage)
      assert.deepStrictEqual(
        replies.map(({ body, status }) => [status, body.status, body.content.trim()]),
        [
          [200, "REQUIRES_ACTION", "Let me look at Bern."],
          [200, "REQUIRES_ACTION", "Let me look at Rome."],
          [200, "COMPLETED", "Ten in both."],
          [200, "COMPLETED", "You are welcome."]
        ]
      )
      const [first] = replies
      assert.deepStrictEqual(first?.body.tool_calls, [
        {
          id: "call_Bern",
          type: "function",
          function: { name: "get_time", arguments: '{"zone":"Bern"}' },
          kind: "client"
        }
      ])
      for (const { body } of replies) {
        const { cost_usd, input_tokens, output_tokens, total_tokens } = body
        assert.deepStrictEqual([input_tokens, output_tokens, total_tokens, cost_usd], [12, 7, 19, costUsd])
      }
      const { requests } = stage.fake
      checkHistories(requests.map(({ body }) => vendor.history(body)))
      requests.forEach(({ body }, index) => {
        if (effort !== null) assert.include(JSON.stringify(body), effort)
        if (replayed !== null && index > 0) assert.include(JSON.stringify(vendor.history(body)), replayed)
      })
      const last = JSON.stringify(vendor.history(requests.at(-1)?.body))
      const places = everythingSaid.map((words) => last.indexOf(words))
      assert.notInclude(places, -1, last)
      assert.deepStrictEqual(
        places,
        places.toSorted((one, other) => one - other),
        last
      )
      for (const { body } of requests)
        for (const words of ["Be brief.", "get_time"]) assert.include(JSON.stringify(body), words)
    })
  )

  it.live("the same as a stream, with the same words to the vendor", () =>
    Effect.gen(function* () {
      const streamed = yield* setUp(each)
      const whole = yield* setUp(each)
      for (const stage of [streamed, whole]) stage.says(...wholeAnswers)
      yield* Effect.promise(() => jsonConversation(whole))
      const parts = yield* Effect.promise(() => streamedConversation(streamed))
      assert.deepStrictEqual(
        parts.map(({ end, events }) => [end.type, told(events, "content_streaming").trim(), end.input_tokens]),
        [
          ["tool_submit_required", "Let me look at Bern.", 12],
          ["tool_submit_required", "Let me look at Rome.", 12],
          ["run_ended", "Ten in both.", 12],
          ["run_ended", "You are welcome.", 12]
        ]
      )
      assert.strictEqual(told(parts[0]?.events ?? [], "reasoning_streaming"), "What about Bern?")
      assert.deepStrictEqual(parts[0]?.end.tool_calls[0].id, "call_Bern")
      assert.strictEqual(parts[3]?.end.cost_usd, costUsd)
      assert.strictEqual(requestBodies(streamed), requestBodies(whole))
    })
  )

  it.live("a customer's own key, and the host's for everybody else", () =>
    play(each, async ({ fake, post, says }) => {
      says(answer("Hello, Bob."), answer("Hello, Ada."))
      for (const owner of ["bob", "ada"]) await post("/threads/messages", { content: "Hi" }, owner)
      const [header, value] = vendor.keyHeader
      assert.deepStrictEqual(
        fake.requests.map(({ headers }) => headers[header]),
        [value(keyOfBob), value("sk-of-the-host")]
      )
    })
  )

  it.live("a failure of the provider is the run's, and the conversation goes on", () =>
    play(each, async ({ fake, post, refuses, says, stream }) => {
      refuses("auth")
      const failed = await post("/threads/messages", { content: "First" })
      assert.deepStrictEqual([failed.status, failed.body.status], [200, "FAILED"])
      assert.notStrictEqual(failed.body.content, "")
      assert.notInclude(JSON.stringify(failed.body), "sk-of-the-host")
      refuses("auth")
      const place = `/threads/${failed.body.thread_id}/messages`
      const { end } = await stream(place, { content: "Second" })
      assert.deepInclude(end, { type: "run_failed", code: "auth", retryable: false, content: "" })
      says(answer("Here I am."))
      assert.strictEqual((await post(place, { content: "Third" })).body.content, "Here I am.")
      const last = JSON.stringify(vendor.history(fake.requests.at(-1)?.body))
      for (const content of ["First", "Second", "Third"]) assert.include(last, content)
    })
  )

  it.live("a second try before the first word", () =>
    play(each, async ({ fake, post, refuses, says }) => {
      refuses("rate_limited", { "retry-after": "0" })
      says(answer("Now."))
      const { body } = await post("/threads/messages", { content: "Hi" })
      assert.deepStrictEqual([body.status, body.content, fake.requests.length], ["COMPLETED", "Now.", 2])
      assert.deepStrictEqual(fake.requests[0]?.body, fake.requests[1]?.body)
    })
  )

  it.live("no second try after it: what was said is kept", () =>
    play(each, async ({ fake, renderFrames, stream }) => {
      const [first = "", second = ""] = renderFrames([{ text: "One" }, { text: ", two" }, { finish: "stop", usage }])
      fake.script(vendor.path, FakeVendor.sse([first, second, FakeVendor.closed]))
      const { end } = await stream("/threads/messages", { content: "Count" })
      assert.deepStrictEqual([end.type, end.content, fake.requests.length], ["run_failed", "One, two", 1])
    })
  )

  it.live("a cancel closes the vendor's socket", () =>
    play(each, async ({ fake, post, renderFrames, send }) => {
      const [first = "", ...rest] = renderFrames([{ text: "One" }, { text: ", two" }, { finish: "stop", usage }])
      fake.script(vendor.path, FakeVendor.sse([first, new FakeVendor.Gate(), ...rest]))
      const events = readEvents(await send("/threads/messages", { content: "Count", stream: true }))
      const seen: Array<SseEvent> = []
      for await (const event of events) {
        seen.push(event)
        if (event.data.type !== "content_streaming") continue
        const { run_id, thread_id } = event.place
        const cancelled = await post(`/threads/${thread_id}/runs/${run_id}/cancel`, {})
        assert.deepInclude(cancelled.body, { cancelled: true, run_id })
      }
      assert.deepInclude(seen.at(-1)?.data, { type: "run_cancelled", content: "One" })
      await fake.requests[0]?.aborted
    })
  )
})

describe("the router", () => {
  const router = cases.find(({ vendor }) => vendor.name === "OpenRouter") ?? assert.fail("no router")

  it.live("gets every option of routing in its own words", () =>
    play(router, async ({ fake, post, says }) => {
      says(answer("Hello."), answer("Hello."))
      const routing = {
        providers: ["acme"],
        allow_fallbacks: false,
        sort: "price",
        ignore: ["other"],
        max_price: { prompt: 1, completion: 2.5 },
        allowed_models: ["acme/*"],
        excluded_models: ["*/*:free"],
        cost_tier: "low"
      }
      const { body } = await post("/threads/messages", { content: "Make me a thread." })
      await post(`/threads/${body.thread_id}/messages`, {
        content: "Hi",
        model_name: "openrouter/auto",
        router: routing
      })
      assert.deepInclude(fake.requests[1]?.body, {
        model: "openrouter/auto",
        provider: {
          order: ["acme"],
          ignore: ["other"],
          allow_fallbacks: false,
          sort: "price",
          max_price: { prompt: 1, completion: 2.5 }
        },
        plugins: [{ id: "auto-router", allowed_models: ["acme/*"], excluded_models: ["*/*:free"], cost_tier: "low" }]
      })
    })
  )
})

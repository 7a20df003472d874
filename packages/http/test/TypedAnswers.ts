/** Typed answers over the whole surface, the same on every store: asked, answered, refused, continued, and judged. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { InsufficientCredit } from "@colloquy/core"
import { guard } from "@colloquy/core/promises"
import { assert, afterAll, beforeAll, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { keys, openTyped, type Service, tool } from "./Service.ts"

const questions = {
  urgent: { type: "noul", instructions: "Is it urgent?", criteria: { true: "today", false: "later" } },
  topic: { type: "choice", instructions: { ask: "Topic?" }, criteria: { refund: "money back", delivery: null } },
  anger: { type: "score", instructions: ["How angry?"], criteria: ["calm", "annoyed", "furious"] }
}

const typed = { llm_provider: "typedprovider", model_name: "typed-latest", system_one: { questions } }

const expected = {
  urgent: { type: "noul", noul: 0.8 },
  topic: { type: "choice", choice: "delivery", probabilities: { refund: 0.2, delivery: 0.8 } },
  anger: { type: "score", score: 1.5, legend: { 0: "calm", 1: "annoyed", 2: "furious" } }
}

const places = ({ body }: { readonly body: { readonly detail: ReadonlyArray<{ loc: Array<string> }> } }) =>
  body.detail.map(({ loc }) => loc.slice(1).join("."))

const send = (service: Service, body: object | FormData | URLSearchParams, call?: { readonly key: string }) =>
  service.call("POST", "/threads/messages", body, call)

export const typedAnswers = (stores: Layer.Layer<InMemory.Stores, unknown>): void => {
  let runtime: ManagedRuntime.ManagedRuntime<InMemory.Stores, unknown>
  let shared: Layer.Layer<InMemory.Stores>
  beforeAll(async () => {
    runtime = ManagedRuntime.make(stores)
    shared = Layer.succeedContext(await runtime.context())
  }, 60_000)
  afterAll(() => runtime.dispose())

  const threadCount = async (service: Service) => (await service.call("GET", "/threads?limit=200")).body.length

  it("typed answers come with the reply, are its text, and stand in the thread", async () => {
    await using service = await openTyped(shared)
    const { body, status } = await send(service, { content: "My parcel is broken", ...typed, json_output: true })
    assert.strictEqual(status, 200)
    assert.deepInclude(body, {
      status: "COMPLETED",
      model_provider: "typedprovider",
      model_name: "typed-1.2",
      input_tokens: 212,
      output_tokens: 3,
      total_tokens: 215
    })
    const { answers, ...rest } = body.system_one
    assert.deepStrictEqual(rest, {
      model: "typed-1.2",
      usage: { input_tokens: 212, output_tokens: 3, total_tokens: 215 },
      method: "native",
      estimated: false
    })
    assert.deepStrictEqual(Object.keys(answers), ["urgent", "topic", "anger"])
    for (const [name, part] of Object.entries(expected)) assert.deepInclude(answers[name], part)
    assert.deepStrictEqual(JSON.parse(body.content), answers)
    const { messages } = (await service.call("GET", `/threads/${body.thread_id}`)).body
    assert.deepStrictEqual(
      messages.map((message: { content: string; system_one: unknown }) => [message.content, message.system_one]),
      [
        ["My parcel is broken", null],
        [body.content, body.system_one]
      ]
    )
    const next = await service.call("POST", `/threads/${body.thread_id}/messages`, { content: "And why?" })
    assert.deepInclude(next.body, { status: "COMPLETED", system_one: null, model_provider: "endless" })
  })

  it("typed answers are asked for on both endpoints and in every encoding; without text the state is the message", async () => {
    await using service = await openTyped(shared)
    const state = { order: 7, items: ["a"] }
    const fields = { ...typed, system_one: JSON.stringify({ questions, state }), stream: "false" }
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.append(name, value)
    const upload = await send(service, form)
    const plain = await send(service, new URLSearchParams(fields))
    const { thread_id } = upload.body
    const json = await service.call("POST", `/threads/${thread_id}/messages`, {
      ...typed,
      system_one: { questions, state }
    })
    for (const { body, status } of [upload, plain, json]) {
      assert.strictEqual(status, 200)
      assert.strictEqual(body.system_one.answers.topic.choice, "delivery")
    }
    const { messages } = (await service.call("GET", `/threads/${thread_id}`)).body
    assert.deepStrictEqual([messages[0].content, messages[2].content], [JSON.stringify(state), JSON.stringify(state)])
  })

  it("typed options named like numbers keep the order in which they were written, in every encoding", async () => {
    await using service = await openTyped(shared)
    const asks: ReadonlyArray<readonly [criteria: string, first: string]> = [
      ['{"10": "ten", "9": "nine", "b": null}', "10"],
      ['{"b": null, "2": "two", "1": null}', "b"],
      ['{"2": "two", "1": "one", "__proto__": "none"}', "2"],
      ['{"__proto__": "none", "2": "two", "1": "one"}', "__proto__"],
      ['{ "\\u0032" : "two", "a \\" 1": null, "1" : "one" }', "2"],
      ['{"2": "first", "1": null, "2": "again"}', "2"]
    ]
    for (const [criteria, first] of asks) {
      const systemOne = `{"questions":{"2":{"type":"choice","criteria":${criteria},"instructions":"?"}},"state":{"9":[],"1":{"b":0}}}`
      const rest = { llm_provider: "typedprovider", model_name: "typed-undecided" }
      const form = new FormData()
      for (const [name, value] of Object.entries({ ...rest, system_one: systemOne })) form.append(name, value)
      const json = `${JSON.stringify(rest).slice(0, -1)},"system_one":${systemOne}}`
      const answers = [
        await service.call("POST", "/threads/messages", json, { headers: { "content-type": "application/json" } }),
        await send(service, form),
        await send(service, new URLSearchParams({ ...rest, system_one: systemOne }))
      ]
      for (const { body, text } of answers) assert.strictEqual(body.system_one?.answers["2"].choice, first, text)
    }
    const order = ["b", "2", "1"]
    const named = { "2": { type: "choice", instructions: "?", criteria: { b: null, 2: null, 1: null }, order } }
    const request = { ...typed, model_name: "typed-undecided", system_one: { questions: named, state: "x" } }
    assert.strictEqual((await send(service, request)).body.system_one.answers["2"].choice, "b")
  })

  it("typed answers: a guard rewrites what is asked, and what a review changes leaves no answers", async () => {
    const secret = /sk-\d+/u
    const noKeys = guard({
      by: "whole",
      before: (text) => text.replace(secret, "[key]"),
      after: (text) => (text.includes("delivery") ? text.replaceAll("delivery", "[x]") : undefined)
    })
    await using service = await openTyped(shared, undefined, noKeys)
    const noul = { type: "noul", instructions: "Is sk-111 urgent?" }
    const asking = async (system_one: object) => {
      const { body } = await send(service, { ...typed, content: "", system_one })
      const path = `/threads/${body.thread_id}`
      const thread = await service.call("GET", path)
      const inspection = await service.call("GET", `${path}/runs/${body.run_id}/inspection`)
      assert.notMatch(`${thread.text}${inspection.text}`, secret)
      return { body, stored: thread.body.messages }
    }
    const state = { key: "sk-222" }
    const passed = await asking({ questions: { noul }, state })
    assert.strictEqual(passed.stored[0].content, '{"key":"[key]"}')
    assert.deepStrictEqual(passed.body.system_one.answers, { noul: { type: "noul", noul: 0.8 } })
    const changed = await asking({ questions: { noul, topic: questions.topic }, state })
    assert.deepInclude(changed.body, { status: "COMPLETED", system_one: null })
    assert.include(changed.body.content, '"choice":"[x]"')
    assert.deepInclude(changed.stored[1], { content: changed.body.content, system_one: null })
    const outcome = { question: "noul", outcome: true }
    const { message_id: messageId, thread_id: threadId } = changed.body
    const path = `/threads/${threadId}/messages/${messageId}/outcomes`
    assert.strictEqual((await service.call("POST", path, outcome)).status, 404)
  })

  it("typed answers: send_to_llm false saves without a call and without a charge", async () => {
    await using service = await openTyped(shared)
    const before = (await service.call("GET", "/billing/usage/recent")).body
    const saved = await send(service, { ...typed, system_one: { questions, state: "kept" }, send_to_llm: "false" })
    assert.deepInclude(saved.body, { role: "user", content: "kept", system_one: null, input_tokens: null })
    assert.deepStrictEqual((await service.call("GET", "/billing/usage/recent")).body, before)
  })

  it("typed answers: every problem is told at once, and nothing is stored", async () => {
    await using service = await openTyped(shared)
    const before = await threadCount(service)
    const malformed = {
      none: { type: "noul" },
      strange: { type: "rank", instructions: "?" },
      empty: { type: "choice", instructions: "?", criteria: {} },
      short: { type: "score", instructions: "?", criteria: ["one"] }
    }
    const controls = {
      stream: true,
      thinking: {},
      tools: [tool("weather")],
      temperature: 0,
      max_tokens: 5,
      response_format: { type: "json_object" },
      web_search: "Auto",
      memory: "Auto"
    }
    const refused = await send(service, {
      content: "x",
      ...typed,
      system_one: { questions: malformed, state: 7 },
      ...controls
    })
    assert.strictEqual(refused.status, 422)
    assert.includeMembers(places(refused), [
      "system_one.questions.none.instructions",
      "system_one.questions.strange.type",
      "system_one.questions.empty.criteria",
      "system_one.questions.short.criteria",
      "system_one.state",
      ...Object.keys(controls)
    ])
    const form = new FormData()
    for (const [name, value] of Object.entries({ ...typed, content: "x", system_one: JSON.stringify({ questions }) })) {
      form.append(name, value)
    }
    form.append("files", new File(["text"], "a.txt"))
    assert.include(places(await send(service, form)).join(), "files")
    for (const [body, place] of [
      [{ content: "x", llm_provider: "typedprovider", model_name: "typed-latest" }, "system_one"],
      [{ content: "x", ...typed, system_one: {} }, "system_one.questions"],
      [{ content: "x", ...typed, system_one: { questions: {} } }, "system_one.questions"],
      [{ content: "x", ...typed, system_one: [] }, "system_one"],
      [{ content: "x", ...typed, llm_provider: "nobody" }, "llm_provider"],
      [{ ...typed }, "content"]
    ] as const) {
      const answer = await send(service, body)
      assert.deepStrictEqual([answer.status, places(answer)], [422, [place]], place)
    }
    assert.strictEqual(await threadCount(service), before)
  })

  it("typed answers: an assistant with tools needs an empty list of them", async () => {
    await using service = await openTyped(shared)
    const assistant = { name: "Tools", tools: [tool("weather")] }
    const { assistant_id } = (await service.call("POST", "/assistants", assistant)).body
    const body = { content: "x", ...typed, assistant_id }
    assert.deepStrictEqual(places(await send(service, body)), ["tools"])
    assert.strictEqual((await send(service, { ...body, tools: [] })).status, 200)
  })

  it("typed answers: no credit is 402 before anything is stored", async () => {
    const broke = { ensureCredit: () => Effect.fail(new InsufficientCredit()), record: () => Effect.void }
    await using service = await openTyped(shared, broke)
    const before = await threadCount(service)
    assert.strictEqual((await send(service, { content: "x", ...typed })).status, 402)
    assert.strictEqual(await threadCount(service), before)
  })

  it("typed answers: nonsense and a refusal of the provider are failed runs with a reason", async () => {
    await using service = await openTyped(shared)
    const broken = await send(service, { content: "x", ...typed, model_name: "typed-broken" })
    assert.deepInclude(broken.body, { status: "FAILED", system_one: null, input_tokens: 212 })
    const poor = await send(service, { content: "x", ...typed, model_name: "typed-poor" })
    assert.deepInclude(poor.body, { status: "FAILED", system_one: null, input_tokens: 0 })
    const run = await service.call("GET", `/threads/${broken.body.thread_id}/runs/${broken.body.run_id}`)
    assert.deepInclude(run.body.error, { code: "malformed", retryable: true })
    assert.include(run.body.error.message, "unknown_option")
  })

  it("typed answers: outcomes are recorded and judged, each for its owner alone", async () => {
    await using service = await openTyped(shared)
    const { body } = await send(service, { content: "x", ...typed })
    const outcomes = `/threads/${body.thread_id}/messages/${body.message_id}/outcomes`
    const report = `/assistants/${body.assistant_id}/answers/report`
    const record = (question: string, outcome: unknown, key = keys.ada) =>
      service.call("POST", outcomes, { question, outcome }, { key })
    assert.strictEqual((await record("urgent", false)).status, 200)
    assert.strictEqual((await record("urgent", true)).status, 200)
    assert.strictEqual((await record("topic", "refund")).status, 200)
    assert.strictEqual((await record("anger", 2)).status, 200)
    // They are read as they were told last, with their types; by nobody else.
    const read = `/threads/${body.thread_id}/outcomes`
    const told = (await service.call("GET", read)).body.outcomes
    assert.sameDeepMembers(
      told.map(({ recorded_at: _, ...each }: { readonly recorded_at: string }) => each),
      [
        { message_id: body.message_id, question: "urgent", outcome: true },
        { message_id: body.message_id, question: "topic", outcome: "refund" },
        { message_id: body.message_id, question: "anger", outcome: 2 }
      ]
    )
    assert.isNotNaN(Date.parse(told[0].recorded_at))
    assert.strictEqual((await service.call("GET", read, undefined, { key: keys.bob })).status, 404)
    const silent = await send(service, { content: "x", ...typed })
    assert.deepStrictEqual((await service.call("GET", `/threads/${silent.body.thread_id}/outcomes`)).body.outcomes, [])
    const judged = (await service.call("GET", report)).body
    assert.deepInclude(judged, { cases: 3, is_partial: false })
    assert.lengthOf(judged.question_sets, 1)
    const byName = new Map<string, { readonly cases: number; readonly brier_score: number; readonly accuracy: number }>(
      judged.question_sets[0].questions.map((each: { question: string }) => [each.question, each])
    )
    assert.strictEqual(byName.get("urgent")?.cases, 1)
    assert.closeTo(byName.get("urgent")?.brier_score ?? 9, 0.04, 1e-9)
    assert.deepInclude(byName.get("topic"), { accuracy: 0 })
    assert.deepInclude(byName.get("anger"), { accuracy: 1 })

    const unknown = await record("weather", true)
    assert.deepStrictEqual([unknown.status, places(unknown)], [422, ["question"]])
    const strange = await record("topic", "complaint")
    assert.deepStrictEqual([strange.status, places(strange)], [422, ["outcome"]])
    const missing = await service.call("POST", outcomes, { question: "urgent" })
    assert.deepStrictEqual([missing.status, places(missing)], [422, ["outcome"]])
    assert.strictEqual((await record("urgent", true, keys.bob)).status, 404)
    assert.strictEqual((await service.call("GET", report, undefined, { key: keys.bob })).status, 404)
    const { messages } = (await service.call("GET", `/threads/${body.thread_id}`)).body
    const ofQuestion = outcomes.replace(body.message_id, messages[0].message_id)
    const none = await service.call("POST", ofQuestion, { question: "urgent", outcome: true })
    assert.strictEqual(none.status, 404)
    await service.call("DELETE", `/threads/${body.thread_id}`)
    assert.strictEqual((await service.call("GET", report)).body.cases, 0)
    assert.strictEqual((await service.call("GET", read)).status, 404)
  })

  it("typed answers: the catalogue lists their models", async () => {
    await using service = await openTyped(shared)
    const { models, total } = (await service.call("GET", "/models?provider=typedprovider&model_type=system_one")).body
    assert.strictEqual(total, 2)
    assert.deepStrictEqual(
      models.map(({ name }: { name: string }) => name),
      ["typed-1.2", "typed-latest"]
    )
  })
}

/** Evals over HTTP and on every store. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel } from "@colloquy/core"
import { Answers } from "@colloquy/core/answers"
import { Documents, TextExtractor } from "@colloquy/core/documents"
import { Evals } from "@colloquy/core/evals"
import { Outputs } from "@colloquy/core/outputs"
import { callTool, say, ScriptedModel, type ScriptedOptions, type ScriptStep } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import * as Layer from "effect/Layer"
import { fileForm, readText } from "./DocumentService.ts"
import { type Answer, keys, serve, type Service, tool } from "./Service.ts"
import { until } from "../../../test/until.ts"

export const openEvals = (
  steps: ReadonlyArray<ScriptStep>,
  stores: Layer.Layer<InMemory.Stores>,
  options: ScriptedOptions = {},
  settings: Parameters<typeof Evals.layer>[0] = {}
) =>
  serve(
    Layer.mergeAll(
      Evals.layer({ mostCases: 8, mostAttempts: 20, poll: "10 millis", ...settings }),
      Answers.layer(),
      Outputs.layer()
    ).pipe(
      Layer.provideMerge(Kernel.layer),
      Layer.provideMerge(ScriptedModel.layer(steps, options)),
      Layer.provideMerge(stores),
      Layer.fresh
    )
  )

/** With documents, and a model that says what it was told. */
const openReader = (stores: Layer.Layer<InMemory.Stores>) =>
  serve(
    Layer.mergeAll(Evals.layer({ poll: "10 millis" }), Documents.layer()).pipe(
      Layer.provideMerge(Kernel.layer),
      Layer.provide(Layer.succeed(TextExtractor, { readable: ["txt"], extract: readText })),
      Layer.provideMerge(
        ScriptedModel.layer([], {
          otherwise: ({ messages, tools }) => {
            const last = messages.at(-1)
            return tools.length > 0 && last?.role === "user"
              ? callTool("search_documents", { query: JSON.stringify(last.content) })
              : say(JSON.stringify(messages))
          }
        })
      ),
      Layer.provideMerge(stores),
      Layer.fresh
    )
  )

const unknown = "01a20967-ebec-77e4-a127-24805fbfb768"

const refusedPlaces = ({ body, status }: Answer): ReadonlyArray<string> => {
  assert.strictEqual(status, 422)
  return body.detail.map(({ loc }: { loc: ReadonlyArray<string> }) => loc.slice(1).join("."))
}

/** The store is shared with other stories. */
const withoutCases = async (service: Service) => {
  const { cases } = (await service.call("GET", "/evals/cases?limit=100")).body
  for (const { case_id } of cases) await service.call("DELETE", `/evals/cases/${case_id}`)
}

export const evalStories = (stores: () => Layer.Layer<InMemory.Stores>): void => {
  it("a stored turn becomes a case with its conversation and what its tools returned, and stays when the thread goes", async () => {
    const steps = [
      say("Hello!"),
      [say("Let me look."), callTool("weather", { city: "Bern" })],
      say("It is sunny."),
      say("Bye.")
    ]
    await using service = await openEvals(steps, stores())
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const { thread_id } = (await service.call("POST", `/assistants/${assistant_id}/threads`)).body
    const send = (content: string) =>
      service.call("POST", `/threads/${thread_id}/messages`, { content, tools: [tool("weather")] })
    await send("Hi")
    const { run_id, tool_calls } = (await send("Weather?")).body
    const outputs = { tool_outputs: [{ tool_call_id: tool_calls[0].id, output: "sun \0 \ud800" }] }
    await service.call("POST", `/threads/${thread_id}/runs/${run_id}/submit-tool-outputs`, outputs)
    await send("Bye")
    const { messages } = (await service.call("GET", `/threads/${thread_id}`)).body
    const [question, , answer] = messages.slice(2)
    const expectations = [{ kind: "contains", text: "sunny" }]
    const asked = { thread_id, message_id: answer.message_id, expectations, tags: ["weather"], name: "Sun" }
    const made = await service.call("POST", "/evals/cases", asked)
    assert.strictEqual(made.status, 201)
    const { case_id, created_at, updated_at, ...told } = made.body
    assert.strictEqual(created_at, updated_at)
    assert.deepStrictEqual(told, {
      name: "Sun",
      assistant_id,
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Hello!" }
      ],
      question: "Weather?",
      expectations,
      tags: ["weather"],
      tools: [{ name: "weather", arguments: tool_calls[0].function.arguments, output: "sun \0 \ud800" }],
      tool_definitions: [tool("weather")],
      instructions: null,
      source: { thread_id, message_id: question.message_id }
    })
    const last = await service.call("POST", "/evals/cases", { thread_id, message_id: messages.at(-2).message_id })
    assert.deepStrictEqual(
      last.body.messages.map(
        ({ content, role, tool_call_id = null, tool_calls: calls = null }: Record<string, unknown>) => [
          role,
          content,
          calls ?? tool_call_id
        ]
      ),
      [
        ["user", "Hi", null],
        ["assistant", "Hello!", null],
        ["user", "Weather?", null],
        ["assistant", "Let me look.", tool_calls.map(({ kind: _kind, ...call }: Record<string, unknown>) => call)],
        ["tool", "sun \0 \ud800", tool_calls[0].id],
        ["assistant", "It is sunny.", null]
      ]
    )
    const test = await service.call("GET", `/threads/${thread_id}/messages/${answer.message_id}/test`)
    assert.strictEqual(test.status, 200)
    for (const part of ["Weather?", "It is sunny.", 'from "colloquy/testing"']) assert.include(test.text, part)
    const nowhere = await service.call("GET", `/threads/${thread_id}/messages/${thread_id}/test`)
    assert.strictEqual(nowhere.status, 404)
    // What was taken from a turn is a case that can be given by hand.
    const { case_id: _id, source: _source, created_at: _made, updated_at: _changed, ...byHand } = last.body
    const copied = await service.call("POST", "/evals/cases", byHand)
    assert.deepInclude(copied.body, byHand)
    await service.call("DELETE", `/threads/${thread_id}`)
    assert.deepStrictEqual((await service.call("GET", `/evals/cases/${case_id}`)).body, made.body)
    const gone = await service.call("POST", "/evals/cases", asked)
    assert.strictEqual(gone.status, 404)
  })

  it("cases are made once for a key, imported whole, listed by tag, changed, exported, erased and deleted", async () => {
    await using service = await openEvals([], stores())
    await withoutCases(service)
    const headers = { "idempotency-key": "case-of-1" }
    const given = { question: "Capital of France?", expectations: [{ kind: "contains", text: "Paris" }], tags: ["geo"] }
    const made = await service.call("POST", "/evals/cases", given, { headers })
    const usual = { name: null, assistant_id: null, messages: [], tools: [], tool_definitions: null, source: null }
    assert.deepInclude(made.body, { ...given, ...usual })
    const twiceNamed = { ...given, tool_definitions: [tool("a"), tool("a")] }
    assert.deepStrictEqual(refusedPlaces(await service.call("POST", "/evals/cases", twiceNamed)), [
      "tool_definitions.1.function.name"
    ])
    const again = await service.call("POST", "/evals/cases", given, { headers })
    assert.deepStrictEqual([again.status, again.body], [201, made.body])
    const other = await service.call("POST", "/evals/cases", { question: "Other?" }, { headers })
    assert.strictEqual(other.status, 409)

    const lines = [
      { question: "One?", tags: ["geo", "new"] },
      {
        question: "Two?",
        messages: [
          { role: "user", content: "Hi" },
          { role: "assistant", content: "Hello" }
        ]
      }
    ]
    const send = (text: string, more: Record<string, string> = {}) =>
      service.call("POST", "/evals/cases/import", text, {
        headers: { "content-type": "application/x-ndjson", ...more }
      })
    const text = `${lines.map((line) => JSON.stringify(line)).join("\n\n")}\n`
    const imported = await send(text, { "idempotency-key": "cases-1" })
    assert.strictEqual(imported.status, 201)
    assert.strictEqual(imported.body.imported, 2)
    const twice = await send(text, { "idempotency-key": "cases-1" })
    assert.deepStrictEqual([twice.status, twice.body], [201, imported.body])
    const [one, two] = imported.body.case_ids
    for (const list of [[], [JSON.stringify(lines[0])]])
      assert.strictEqual((await service.call("POST", "/evals/cases/import", list)).status, 422)
    const wrong = await send(`${JSON.stringify(lines[0])}\nno json\n${JSON.stringify({ question: 1, tags: "x" })}`)
    assert.strictEqual(wrong.status, 422)
    assert.deepStrictEqual(
      wrong.body.detail.map(({ loc }: { loc: ReadonlyArray<string> }) => loc.join(".")).toSorted(),
      ["body.cases.1", "body.cases.2.question", "body.cases.2.tags"]
    )

    const ids = async (query: string) =>
      (await service.call("GET", `/evals/cases${query}`)).body.cases.map(
        (each: Record<string, string>) => each["case_id"]
      )
    assert.deepStrictEqual(await ids(""), [two, one, made.body.case_id])
    assert.deepStrictEqual(await ids("?tag=geo"), [one, made.body.case_id])
    const page = (await service.call("GET", "/evals/cases?limit=2")).body
    assert.strictEqual(page.next_cursor, one)
    const rest = (await service.call("GET", `/evals/cases?limit=2&cursor=${page.next_cursor}`)).body
    assert.deepStrictEqual([rest.cases.length, rest.next_cursor], [1, null])

    const change = { name: "France", expectations: [], tags: [] }
    const changed = (await service.call("PUT", `/evals/cases/${made.body.case_id}`, change)).body
    assert.deepInclude(changed, { ...change, question: given.question })
    assert.deepInclude((await service.call("PUT", `/evals/cases/${made.body.case_id}`, { name: null })).body, {
      name: null
    })
    const archive = (await service.call("GET", "/owners/me/export")).text
    assert.include(archive, "evals.jsonl")
    assert.include(archive, two)
    const many = Array.from({ length: 6 }, () => ({ question: "?" }))
    assert.strictEqual((await service.call("POST", "/evals/cases/import", { cases: many })).status, 429)
    assert.strictEqual((await ids("")).length, 3)
    assert.deepInclude((await service.call("DELETE", `/evals/cases/${one}`)).body, { case_id: one })
    for (const method of ["GET", "PUT", "DELETE"] as const)
      assert.strictEqual(
        (await service.call(method, `/evals/cases/${one}`, method === "PUT" ? {} : undefined)).status,
        404
      )
  })

  it("a question that asked for a schema or for typed answers asks for them again, also when its record is sent back", async () => {
    await using service = await openEvals([say('{"name":"Ada"}'), say('{"name":"Bob"}')], stores())
    const output_schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
    const asked = { content: "Who?", output_schema, output_name: "person", system_prompt: "Be exact." }
    const { message_id, thread_id } = (await service.call("POST", "/threads/messages", asked)).body
    const made = (await service.call("POST", "/evals/cases", { thread_id, message_id })).body
    const form = { output_schema, output_name: "person", instructions: "Be exact." }
    assert.deepInclude(made, form)
    const { case_ids } = (await service.call("POST", "/evals/cases/import", { cases: [made] })).body
    assert.deepInclude((await service.call("GET", `/evals/cases/${case_ids[0]}`)).body, form)
    const { experiment_id } = (
      await service.call("POST", "/evals/experiments", { case_ids: [made.case_id], variants: [{ name: "now" }] })
    ).body
    const results = async () => (await service.call("GET", `/evals/experiments/${experiment_id}/results`)).body.results
    await until(async () => (await results()).length > 0)
    assert.deepInclude((await results())[0], { passed: true, content: '{"name":"Bob"}', error: null })
    const [first, second] = service.model.requests
    assert.deepStrictEqual([second?.system, second?.output], [first?.system, first?.output])
    assert.strictEqual(second?.output?.name, "person")
    const system_one = { questions: { urgent: { type: "noul", instructions: "Is it?" } }, state: "Fire" }
    const typed = await service.call("POST", "/evals/cases", { question: "?", system_one })
    assert.deepInclude(typed.body, { system_one })
    await withoutCases(service)
  })

  it("a case that is wrong is refused with every problem, and another owner's is as if it were not there", async () => {
    await using service = await openEvals([say("Hi.")], stores())
    const { thread_id } = (await service.call("POST", "/threads/messages", { content: "Hello" })).body
    const [question] = (await service.call("GET", `/threads/${thread_id}`)).body.messages
    const post = (body: object, key = keys.ada) => service.call("POST", "/evals/cases", body, { key })
    assert.deepStrictEqual(refusedPlaces(await post({})), ["question"])
    assert.deepStrictEqual(refusedPlaces(await post({ question: " " })), ["question"])
    assert.deepStrictEqual(
      refusedPlaces(await post({ thread_id, question: "?", messages: [], output_schema: {}, instructions: "" })),
      ["message_id", "question", "messages", "instructions", "output_schema"]
    )
    const formless = {
      question: "?",
      output_schema: { type: "objet" },
      system_one: { questions: {} }
    }
    assert.deepStrictEqual(
      refusedPlaces(await post(formless)).map((place) => place.split(".")[0]),
      ["output_schema", "system_one"]
    )
    const places = refusedPlaces(
      await post({
        question: "?",
        name: "",
        tags: ["a", "a"],
        expectations: [{ kind: "matches", pattern: "(?=a)" }, { kind: "nothing" }],
        tools: [{ name: "x" }],
        messages: [{ role: "system", content: "?" }]
      })
    ).map((place) => place.split(".").slice(0, 2).join("."))
    assert.includeMembers([...places], ["name", "expectations.0", "expectations.1", "tools.0", "messages.0"])
    const call = { id: "1", function: { name: "look", arguments: "{}" } }
    const open_ = {
      question: "?",
      messages: [
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "user", content: "?" }
      ]
    }
    assert.deepStrictEqual(refusedPlaces(await post(open_)), ["messages.0.tool_calls.0"])
    assert.deepStrictEqual(
      refusedPlaces(await service.call("POST", "/evals/cases/import", { cases: [{ question: "?" }, open_] })),
      ["cases.1.messages.0.tool_calls.0"]
    )
    const misspelled = { kind: "contains", text: "a", ignorecase: true, nto: true }
    const strange = {
      question: "?",
      expectations: [misspelled],
      expectation: [],
      messages: [{ role: "user", text: "?" }]
    }
    const strangePlaces = ["expectation", "expectations.0.ignorecase", "expectations.0.nto", "messages.0.text"]
    assert.deepStrictEqual(refusedPlaces(await post(strange)), strangePlaces)
    const importCases = (cases: ReadonlyArray<object>) => service.call("POST", "/evals/cases/import", { cases })
    assert.deepStrictEqual(
      refusedPlaces(await importCases([{ question: "?" }, strange])),
      strangePlaces.map((place) => `cases.1.${place}`)
    )
    // Of a large body, the first problem is told.
    const many = Array.from({ length: 700 }, () => ({ question: "?", expectations: [] }))
    assert.deepStrictEqual(refusedPlaces(await importCases([...many, strange])), [`cases.700.${strangePlaces[0]}`])
    for (const query of ["limit=0", "limit=101", "cursor=x"])
      assert.strictEqual((await service.call("GET", `/evals/cases?${query}`)).status, 422)

    const theirs = { thread_id, message_id: question.message_id }
    assert.strictEqual((await post(theirs, keys.bob)).status, 404)
    assert.strictEqual((await post({ thread_id, message_id: unknown })).status, 404)
    assert.strictEqual((await post({ question: "?", assistant_id: unknown })).status, 404)
    const record = (await post(theirs)).body
    const { case_id } = record
    const put = (body: object) => service.call("PUT", `/evals/cases/${case_id}`, body)
    assert.deepStrictEqual(refusedPlaces(await put({ tag: [], expectations: [misspelled] })), [
      "tag",
      "expectations.0.ignorecase",
      "expectations.0.nto"
    ])
    // A record may be sent back as a whole.
    assert.deepInclude((await put({ ...record, tags: ["whole"] })).body, { tags: ["whole"], question: "Hello" })
    for (const method of ["GET", "PUT", "DELETE"] as const) {
      const body = method === "PUT" ? { name: "Theirs" } : undefined
      assert.strictEqual((await service.call(method, `/evals/cases/${case_id}`, body, { key: keys.bob })).status, 404)
    }
    assert.deepStrictEqual((await service.call("GET", "/evals/cases", undefined, { key: keys.bob })).body.cases, [])
    assert.deepInclude((await service.call("GET", `/evals/cases/${case_id}`)).body, { name: null })
  })

  it("an experiment answers cases by two variants, tells how far it is, and gives results, a summary and a comparison", async () => {
    const otherwise = ({ system }: { readonly system: string | null }) =>
      say(system === "Be wrong." ? "Rome." : "Paris.")
    await using service = await openEvals([], stores(), { otherwise })
    await withoutCases(service)
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const expectations = [{ kind: "contains", text: "Paris" }]
    const given = ["One?", "Two?"].map((question) => ({
      question,
      assistant_id,
      expectations,
      tags: ["geo", question]
    }))
    const { case_ids } = (await service.call("POST", "/evals/cases/import", { cases: given })).body
    const headers = { "idempotency-key": "experiment-1" }
    const variants = [{ name: "now" }, { name: "wrong", instructions: "Be wrong.", model_options: { temperature: 0 } }]
    // A form sends empty texts for fields that are left empty.
    const unnamed = { ...variants[0], llm_provider: "", model_name: " " }
    const asked = { name: "First", tags: ["geo"], variants: [unnamed, variants[1]] }
    const made = await service.call("POST", "/evals/experiments", asked, { headers })
    assert.strictEqual(made.status, 201)
    const { created_at: _at, experiment_id, ...told } = made.body
    assert.deepStrictEqual(told, {
      name: "First",
      status: "running",
      reason: null,
      cases: 2,
      variants,
      repeats: 1,
      tools: "recorded",
      concurrency: 3,
      budget_usd: null,
      expectations: [],
      attempts: { total: 4, done: 0 },
      cost_usd: 0,
      ended_at: null
    })
    const again = await service.call("POST", "/evals/experiments", asked, { headers })
    assert.deepStrictEqual([again.status, again.body], [201, made.body])
    const at = `/evals/experiments/${experiment_id}`
    let state = made.body
    await until(async () => {
      state = (await service.call("GET", at)).body
      return state.status !== "running"
    })
    assert.deepInclude(state, { status: "completed", attempts: { total: 4, done: 4 } })
    const page = (await service.call("GET", `${at}/results?limit=3`)).body
    assert.deepStrictEqual(
      page.results.map(({ number, passed, variant }: Record<string, unknown>) => [number, variant, passed]),
      [
        [0, "now", true],
        [1, "wrong", false],
        [2, "now", true]
      ]
    )
    const rest = (await service.call("GET", `${at}/results?limit=3&cursor=${page.next_cursor}`)).body
    assert.deepStrictEqual([rest.results.length, rest.next_cursor], [1, null])
    const lines = await service.call("GET", `${at}/results?format=jsonl`)
    assert.deepStrictEqual(
      lines.text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
      [...page.results, ...rest.results]
    )
    const summary = (await service.call("GET", `${at}/summary`)).body
    assert.deepStrictEqual(
      summary.variants.map(({ passed, variant }: Record<string, unknown>) => [variant, passed]),
      [
        ["now", 2],
        ["wrong", 0]
      ]
    )
    const comparison = (await service.call("GET", `${at}/comparison?a=now&b=wrong`)).body
    assert.deepStrictEqual([comparison.worse.length, comparison.better.length], [2, 0])
    assert.include(comparison.words, "wors")
    assert.strictEqual((await service.call("GET", `${at}/comparison?a=now&b=none`)).status, 404)
    assert.strictEqual((await service.call("GET", `${at}/comparison?a=now`)).status, 422)
    const { runs } = (await service.call("GET", `/runs?assistant_id=${assistant_id}`)).body
    assert.deepStrictEqual(runs, [])
    const archive = (await service.call("GET", "/owners/me/export")).text
    for (const name of ["experiments.jsonl", "experiment_results.jsonl", experiment_id]) assert.include(archive, name)

    const cancelled = await service.call("POST", `${at}/cancel`)
    assert.deepStrictEqual([cancelled.status, cancelled.body.status], [200, "completed"])
    const resumed = await service.call(
      "POST",
      `${at}/resume`,
      { budget_usd: 5 },
      { headers: { "idempotency-key": "r" } }
    )
    assert.deepStrictEqual([resumed.status, resumed.body.status, resumed.body.budget_usd], [200, "completed", null])
    assert.deepStrictEqual(refusedPlaces(await service.call("POST", `${at}/resume`, { budget_usd: 0 })), ["budget_usd"])
    assert.deepStrictEqual(refusedPlaces(await service.call("POST", `${at}/resume`, { budget: 5 })), ["budget"])
    const wrong = [
      [{ variants: [] }, ["variants"]],
      [{ variants: [{ name: "a" }, { name: "a" }], case_ids, repeats: 21 }, ["repeats"]],
      [{ variants: [{ name: "a" }, { name: "a" }], case_ids }, ["variants.1.name"]],
      [
        { variants: [{ name: "a", assistant_id, assistant_version: 7 }], tags: ["geo"], repeats: 11 },
        ["", "variants.0.assistant_version"]
      ],
      [{ variants: [{ name: "a" }], tags: ["none"] }, ["tags"]],
      [
        {
          variants: [{ name: "a", model: "m", model_options: { temprature: 1 } }],
          case_id: case_ids,
          expectations: [{ kind: "equals", text: "a", at_least: 1 }]
        },
        ["case_id", "variants.0.model", "variants.0.model_options.temprature", "expectations.0.at_least"]
      ]
    ] as const
    for (const [body, places] of wrong)
      assert.deepStrictEqual(refusedPlaces(await service.call("POST", "/evals/experiments", body)), [...places])
    const missing = { variants: [{ name: "a", assistant_id: unknown }], case_ids }
    assert.strictEqual((await service.call("POST", "/evals/experiments", missing)).status, 404)
    const theirs = { variants: [{ name: "a" }], case_ids }
    assert.strictEqual((await service.call("POST", "/evals/experiments", theirs, { key: keys.bob })).status, 404)
    for (const [method, place] of [
      ["GET", at],
      ["DELETE", at],
      ["POST", `${at}/cancel`],
      ["POST", `${at}/resume`],
      ["GET", `${at}/results`],
      ["GET", `${at}/results?format=jsonl`],
      ["GET", `${at}/summary`],
      ["GET", `${at}/comparison?a=now&b=wrong`]
    ] as const)
      assert.strictEqual((await service.call(method, place, undefined, { key: keys.bob })).status, 404, place)
    assert.deepInclude((await service.call("DELETE", at)).body, { experiment_id })
    const { experiments } = (await service.call("GET", "/evals/experiments")).body
    assert.notInclude(
      experiments.map(({ experiment_id: id }: Record<string, unknown>) => id),
      experiment_id
    )
  })

  it("variants with other settings of retrieval get other excerpts and other scores", async () => {
    await using service = await openReader(stores())
    await withoutCases(service)
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const facts = { winter: "The harbour closes at nine in winter.", summer: "The harbour closes at ten in summer." }
    for (const [name, text] of Object.entries(facts)) {
      const file = new File([text], `${name}.txt`, { type: "text/plain" })
      const uploaded = await service.call("POST", `/assistants/${assistant_id}/documents`, fileForm({ file }))
      const at = `/documents/${uploaded.body.document_id}/status`
      await until(async () => (await service.call("GET", at)).body.status === "completed")
    }
    const expectations = ["at nine", "at ten"].map((text) => ({ kind: "contains", text }))
    const question = "When does the harbour close?"
    const { case_id } = (await service.call("POST", "/evals/cases", { question, assistant_id, expectations })).body
    const variants = [
      { name: "usual" },
      { name: "one", retrieval: { tok_k: 1 } },
      { name: "none", retrieval: { excerpts: "none" } },
      { name: "searches", retrieval: { tok_k: 5, excerpts: "tool" } }
    ]
    const asked = { case_ids: [case_id], variants }
    const made = await service.call("POST", "/evals/experiments", asked)
    assert.deepStrictEqual([made.status, made.body.variants], [201, variants])
    const at = `/evals/experiments/${made.body.experiment_id}`
    await until(async () => (await service.call("GET", at)).body.status !== "running")
    const { results } = (await service.call("GET", `${at}/results`)).body
    assert.deepStrictEqual(
      results.map(({ scores, variant }: Record<string, ReadonlyArray<{ value: number }>>) => [
        variant,
        scores?.reduce((sum, { value }) => sum + value, 0)
      ]),
      [
        ["usual", 2],
        ["one", 1],
        ["none", 0],
        ["searches", 2]
      ]
    )
    assert.deepStrictEqual(
      results.map(({ tool_calls }: { tool_calls: ReadonlyArray<unknown> }) => tool_calls.length),
      [0, 0, 0, 1]
    )
    const wrong = { ...asked, variants: [{ name: "a", retrieval: { tok_k: 0, excerpts: "all", top_k: 1 } }] }
    assert.deepStrictEqual(refusedPlaces(await service.call("POST", "/evals/experiments", wrong)), [
      "variants.0.retrieval.top_k",
      "variants.0.retrieval.tok_k",
      "variants.0.retrieval.excerpts"
    ])
    await using other = await openEvals([], stores())
    assert.deepStrictEqual(refusedPlaces(await other.call("POST", "/evals/experiments", asked)), [
      "variants.1.retrieval",
      "variants.2.retrieval",
      "variants.3.retrieval"
    ])
  })

  it("feedback of a user is kept with the answer, replaced, listed, exported, and goes with the thread", async () => {
    await using service = await openEvals([say("Hi.")], stores())
    const { assistant_id, message_id, thread_id } = (
      await service.call("POST", "/threads/messages", { content: "Hello" })
    ).body
    const path = `/threads/${thread_id}/messages/${message_id}/feedback`
    const headers = { "idempotency-key": "feedback-1" }
    const given = { score: -1, comment: "Wrong \0\ud800", tags: ["facts"] }
    const kept = await service.call("POST", path, given, { headers })
    assert.strictEqual(kept.status, 200)
    assert.deepInclude(kept.body, { ...given, thread_id, message_id, assistant_id, assistant_version: 1 })
    assert.deepStrictEqual((await service.call("POST", path, given, { headers })).body, kept.body)
    assert.strictEqual((await service.call("POST", path, { score: 1 }, { headers })).status, 409)
    const changed = (await service.call("POST", path, { score: 0.5 })).body
    assert.deepInclude(changed, { score: 0.5, comment: null, tags: [] })
    const listed = async (query: string, key = keys.ada) =>
      (await service.call("GET", `/evals/feedback${query}`, undefined, { key })).body.feedback
    assert.deepStrictEqual(await listed(`?thread_id=${thread_id}`), [changed])
    assert.deepStrictEqual(await listed(`?assistant_id=${assistant_id}`), [changed])
    assert.deepStrictEqual(await listed("", keys.bob), [])
    assert.include((await service.call("GET", "/owners/me/export")).text, "feedback.jsonl")

    const [question] = (await service.call("GET", `/threads/${thread_id}`)).body.messages
    const asked = await service.call("POST", `/threads/${thread_id}/messages/${question.message_id}/feedback`, {
      score: 1
    })
    assert.deepStrictEqual(refusedPlaces(asked), ["message_id"])
    const wrong = { score: 2, comment: 1, tags: "x", coment: "?" }
    assert.deepStrictEqual(refusedPlaces(await service.call("POST", path, wrong)), [
      "coment",
      "score",
      "comment",
      "tags"
    ])
    assert.strictEqual((await service.call("POST", path, { score: 1 }, { key: keys.bob })).status, 404)
    const elsewhere = `/threads/${thread_id}/messages/${unknown}/feedback`
    assert.strictEqual((await service.call("POST", elsewhere, { score: 1 })).status, 404)
    await service.call("DELETE", `/threads/${thread_id}`)
    assert.deepStrictEqual(await listed(`?thread_id=${thread_id}`), [])
  })

  it("what a person says is true of a judge's answer calibrates the judge, of results and of sampled turns", async () => {
    const judged = [{ kind: "judge" as const, question: "Is it right?" }]
    const otherwise = ({ messages }: { readonly messages: ReadonlyArray<unknown> }) =>
      say(JSON.stringify(messages).includes("Is it right?") ? '{"Yes": 0.9, "No": 0.1}' : "Paris.")
    const online = { share: 1, expectations: judged }
    await using service = await openEvals([], stores(), { otherwise }, { online })
    await withoutCases(service)
    const { run_id } = (await service.call("POST", "/threads/messages", { content: "Capital?" })).body
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const expectations = [{ kind: "contains", text: "Paris" }, ...judged]
    const given = [{ question: "One?", assistant_id, expectations }]
    const { case_ids } = (await service.call("POST", "/evals/cases/import", { cases: given })).body
    const asked = { case_ids, variants: [{ name: "now" }] }
    const { experiment_id } = (await service.call("POST", "/evals/experiments", asked)).body
    const path = `/evals/experiments/${experiment_id}`
    await until(async () => (await service.call("GET", path)).body.status !== "running")
    const tell = (place: string, body: object, key = keys.ada) =>
      service.call("POST", `${place}/outcomes`, body, { key })
    const told = await tell(`${path}/results/0`, { score: 1, outcome: false })
    assert.deepInclude(told.body, { expected: "Is it right? yes", value: 0.9, outcome: false })
    // What is said later stands in its place.
    assert.strictEqual((await tell(`${path}/results/0`, { score: 1, outcome: true })).status, 200)
    const calibration = async () => (await service.call("GET", `${path}/summary`)).body.judges[0].outcomes
    const [before, cases] = [await calibration(), (await calibration()).cases]
    assert.isAtLeast(cases, 1)
    const scored = `/evals/online/scores/${run_id}`
    const isScored = async () => (await tell(scored, { score: 0, outcome: false })).status === 200
    await until(isScored)
    assert.strictEqual((await calibration()).cases, before.cases + 1)
    const read = (place: string, key = keys.ada) => service.call("GET", `${place}/outcomes`, undefined, { key })
    for (const [place, outcome] of [
      [`${path}/results/0`, { score: 1, outcome: true }],
      [scored, { score: 0, outcome: false }]
    ] as const) {
      const { outcomes } = (await read(place)).body
      assert.lengthOf(outcomes, 1)
      assert.deepInclude(outcomes[0], outcome)
      assert.isNotNaN(Date.parse(outcomes[0].recorded_at))
      assert.strictEqual((await read(place, keys.bob)).status, 404)
    }
    for (const place of [
      `${path}/results/1`,
      `/evals/experiments/${unknown}/results/0`,
      `/evals/online/scores/${unknown}`
    ])
      assert.strictEqual((await read(place)).status, 404, place)
    const { judges } = (await service.call("GET", "/evals/online")).body
    assert.strictEqual(judges[0].outcomes.cases, before.cases + 1)

    assert.deepStrictEqual(refusedPlaces(await tell(`${path}/results/0`, { score: 1, outcome: "maybe" })), ["outcome"])
    assert.deepStrictEqual(refusedPlaces(await tell(scored, { score: -1, outcome: 1, truth: 1 })), [
      "truth",
      "score",
      "outcome"
    ])
    for (const [place, score] of [
      [`${path}/results/0`, 0],
      [`${path}/results/0`, 2],
      [`${path}/results/1`, 0],
      [`/evals/experiments/${unknown}/results/0`, 0],
      [`/evals/online/scores/${unknown}`, 0]
    ] as const)
      assert.strictEqual((await tell(place, { score, outcome: true })).status, 404, `${place} ${score}`)
    for (const place of [`${path}/results/0`, scored])
      assert.strictEqual((await tell(place, { score: 1, outcome: true }, keys.bob)).status, 404)
    await withoutCases(service)
  })

  it("sampled turns are scored, read by day and one by one with their thumbs, exported, and other owners see none", async () => {
    const online = { share: 1, expectations: [{ kind: "contains" as const, text: "Paris" }] }
    await using service = await openEvals([say("Paris."), say("Rome.")], stores(), {}, { online })
    const first = (await service.call("POST", "/threads/messages", { content: "Capital?" })).body
    const { assistant_id, message_id, thread_id } = first
    const second = (await service.call("POST", `/threads/${thread_id}/messages`, { content: "Capital?" })).body
    await service.call("POST", `/threads/${thread_id}/messages/${message_id}/feedback`, { score: 1 })
    const mine = `assistant_id=${assistant_id}`
    const listed = async (query: string, key = keys.ada) =>
      (await service.call("GET", `/evals/online/scores?${mine}${query}`, undefined, { key })).body
    await until(async () => (await listed("")).scores.length >= 2)
    const page = await listed("&limit=1")
    const rest = await listed(`&limit=1&cursor=${page.next_cursor}`)
    assert.strictEqual(rest.next_cursor, null)
    const told = [...page.scores, ...rest.scores].toSorted((a, b) => a.passed - b.passed)
    assert.deepStrictEqual(
      told.map(({ feedback, message_id: id, passed, thread_id: place }) => [id, place, passed, feedback]),
      [
        [second.message_id, thread_id, false, null],
        [message_id, thread_id, true, 1]
      ]
    )
    assert.deepStrictEqual(
      (await listed("&rated=true")).scores.map(({ run_id }: Record<string, unknown>) => run_id),
      [first.run_id]
    )
    const report = await service.call("GET", `/evals/online?${mine}`)
    assert.strictEqual(report.status, 200)
    const { days, versions, ...others } = report.body
    assert.deepInclude(others, { share: 1, expectations: online.expectations, judges: [], is_partial: false })
    assert.deepInclude(versions[0], { assistant_id, assistant_version: 1, turns: 2, passed: 1, pass_rate: 0.5 })
    assert.strictEqual(
      days.reduce((sum: number, day: { turns: number }) => sum + day.turns, 0),
      2
    )
    const earlier = (await service.call("GET", "/evals/online?from=2001-01-01&to=2001-01-31")).body
    assert.deepStrictEqual([earlier.from, earlier.to, earlier.days], ["2001-01-01", "2001-01-31", []])
    for (const wrong of ["from=2001-02-30", "to=x", "from=2001-01-01T00:00:00Z", "assistant_id=x"])
      assert.strictEqual((await service.call("GET", `/evals/online?${wrong}`)).status, 422, wrong)
    assert.deepStrictEqual((await listed("", keys.bob)).scores, [])
    const theirs = await service.call("GET", `/evals/online?${mine}`, undefined, { key: keys.bob })
    assert.deepStrictEqual(theirs.body.days, [])
    const archive = (await service.call("GET", "/owners/me/export")).text
    assert.include(archive, "online_scores.jsonl")
    assert.include(archive.slice(archive.indexOf("online_scores.jsonl")), first.run_id)
    const back = await service.call("POST", `/threads/${thread_id}/rewind`, { message_id, keep: false })
    assert.strictEqual(back.status, 200)
    assert.deepStrictEqual(
      (await listed("")).scores.map(({ run_id }: Record<string, unknown>) => run_id),
      [first.run_id]
    )
    await service.call("DELETE", `/threads/${thread_id}`)
    assert.deepStrictEqual((await listed("")).scores, [])
  })
}

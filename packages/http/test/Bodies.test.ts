/** Bodies of the message endpoints in their three encodings: what is accepted, what is refused, and that every problem is told at once. */
import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { callTool, expect, say } from "@colloquy/testing"
import { openai } from "../src/openai/index.ts"
import { type Answer, open, type Service, tool } from "./Service.ts"

const form = (fields: Readonly<Record<string, string | Blob>>): FormData => {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.append(name, value)
  return data
}

const problemsIn = (answer: Answer): ReadonlyArray<string> => {
  assert.strictEqual(answer.status, 422, answer.text)
  return answer.body.detail.map(
    (problem: { loc: Array<string | number>; type: string }) => `${problem.loc.join(".")} ${problem.type}`
  )
}

const send = (service: Service, body: unknown) => service.call("POST", "/threads/messages", body)

const onThread = async (service: Service, body: unknown) => {
  const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
  const { thread_id } = (await service.call("POST", `/assistants/${assistant_id}/threads`)).body
  return service.call("POST", `/threads/${thread_id}/messages`, body)
}

describe("a message body", () => {
  it("whose form has a part without a name is refused with its problem, wherever the part stands", async () => {
    await using service = await open([])
    const named = '--B\r\nContent-Disposition: form-data; name="content"\r\n\r\nHello\r\n'
    const heads = [
      "Content-Disposition: form-data",
      'Content-Disposition: form-data; name=""',
      'Content-Disposition: form-data; name=""; filename="a.txt"',
      'Content-Disposition: form-data; filename="a.txt"',
      "Content-Disposition: attachment",
      'Content-Disposition: attachment; filename="a.txt"',
      "Content-Type: text/plain"
    ]
    for (const head of heads) {
      for (const bytes of ["text", "\u00ff"]) {
        const nameless = `--B\r\n${head}\r\n\r\n${bytes}\r\n`
        for (const parts of [nameless + named, named + nameless, nameless]) {
          const body = Uint8Array.from(Buffer.from(`${parts}--B--\r\n`, "latin1"))
          const headers = { "content-type": "multipart/form-data; boundary=B" }
          const answer = await service.call("POST", "/threads/messages", body, { headers })
          assert.deepStrictEqual(problemsIn(answer), ["body missing"], parts)
        }
      }
    }
  })

  it("that is compressed is refused with what to do, and taken where the host has unpacked it", async () => {
    await using service = await open([say("Hello.")], { http: { wings: [openai] } })
    const message = JSON.stringify({ content: "Hi", model: "m", messages: [] })
    const types = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=B"]
    for (const path of ["/threads/messages", "/v1/chat/completions"])
      for (const type of path === "/threads/messages" ? types : types.slice(0, 1)) {
        const headers = { "content-type": type, "content-encoding": "GZIP" }
        const answer = await service.call("POST", path, new Uint8Array(gzipSync(message)), { headers })
        assert.strictEqual(answer.status, 415, path + type)
        assert.match(answer.text, /The body is compressed\. Send it without Content-Encoding\./u)
      }
    const headers = { "content-type": "application/json", "content-encoding": "gzip" }
    assert.strictEqual((await service.call("POST", "/threads/messages", message, { headers })).status, 200)
    const malformed = { ...headers, "content-encoding": "identity" }
    assert.strictEqual((await service.call("POST", "/threads/messages", "{", { headers: malformed })).status, 400)
  })

  it("whose form breaks off anywhere is malformed", async () => {
    await using service = await open([])
    const whole = '--B\r\nContent-Disposition: form-data; name="content"\r\n\r\nHello\r\n--B--'
    const headers = { "content-type": "multipart/form-data; boundary=B" }
    for (let end = 0; end < whole.length; end++) {
      const answer = await service.call("POST", "/threads/messages", whole.slice(0, end), { headers })
      assert.strictEqual(answer.status, 400, whole.slice(0, end))
    }
  })

  it("may not hold a text, or metadata, longer than a text may be", async () => {
    await using service = await open([])
    const long = "a".repeat(1024 * 1024 + 1)
    const metadata = Object.fromEntries(Array.from({ length: 4 }, (_, at) => [`k${at}`, long.slice(0, 300_000)]))
    const assistant = { name: "A" }
    const bodies = [
      ["/threads/messages", { content: long }],
      ["/assistants", { ...assistant, system_prompt: long }],
      ["/assistants", { ...assistant, tools: [{ ...tool("f"), description: long }] }],
      ["/threads/messages", { content: "a", metadata: JSON.stringify({ long }) }],
      ["/assistants", { ...assistant, metadata }]
    ] as const
    for (const [path, body] of bodies) {
      const answer = await service.call("POST", path, body)
      assert.strictEqual(answer.status, 413, path)
      assert.strictEqual(answer.body.detail, "The text is over the limit of 1048576 bytes")
    }
  })

  const options = {
    content: "Hello",
    system_prompt: "Be short.",
    tools: [tool("weather")],
    thinking: { effort: "low", budget_tokens: 0, max_tokens: 1, exclude_reasoning: false },
    metadata: '{"a":{"b":1}}',
    json_output: false,
    send_to_llm: "true",
    memory: "off",
    web_search: "off",
    image_generation: "off",
    image_model_name: "ignored",
    custom_timestamp: "2026-01-31T10:00:00+01:00"
  }

  const asked = expect((request) => {
    assert.strictEqual(request.system, "Be short.")
    assert.deepStrictEqual(
      request.tools.map(({ name }) => name),
      ["weather"]
    )
    assert.deepStrictEqual(request.thinking, { effort: "low", budgetTokens: 0, maxTokens: 1, excludeReasoning: false })
  })

  const asText = Object.fromEntries(
    Object.entries(options).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)])
  )

  const encodings: ReadonlyArray<readonly [string, unknown]> = [
    ["JSON", options],
    ["multipart", form(asText)],
    ["URL-encoded", new URLSearchParams(asText)]
  ]
  for (const [name, body] of encodings) {
    it(`says the same as ${name}`, async () => {
      await using service = await open([[asked, say("Hi.")]])
      const answer = await onThread(service, body)
      assert.strictEqual(answer.status, 200, answer.text)
      const thread = await service.call("GET", `/threads/${answer.body.thread_id}`)
      assert.deepStrictEqual(thread.body.messages[0].metadata_, {
        a: { b: 1 },
        custom_timestamp: "2026-01-31T10:00:00+01:00"
      })
    })
  }

  it("may say null for everything that it does not set, and things that nobody knows", async () => {
    await using service = await open([say("Hi.")])
    const nulls = Object.fromEntries(
      "llm_provider model_name system_prompt image_generation image_model_provider image_model_name stream thinking router tools memory memory_response_citation memory_citation memory_pro web_search send_to_llm json_output custom_timestamp metadata voice video_generation video_config system_one thread_id assistant_id"
        .split(" ")
        .map((name) => [name, null])
    )
    const answer = await send(service, { ...nulls, content: "Hello", unknown: { deep: [1] } })
    assert.strictEqual(answer.status, 200, answer.text)
  })

  it("streams when a form says so", async () => {
    await using service = await open([say("Hi.")])
    const response = await service.fetch("POST", "/threads/messages", form({ content: "Hello", stream: "True" }))
    assert.strictEqual(response.headers.get("content-type"), "text/event-stream")
    assert.include(await response.text(), '"type":"run_ended"')
  })

  it("is only saved when send_to_llm is false, as text or as a boolean", async () => {
    await using service = await open([])
    for (const value of [false, "false", "False"]) {
      const answer = await send(service, { content: "A note", send_to_llm: value })
      assert.deepStrictEqual([answer.status, answer.body.role, answer.body.model_name], [200, "user", null])
    }
    assert.strictEqual((await send(service, form({ content: "A note", send_to_llm: "0" }))).body.role, "user")
  })

  it("has its metadata as text, and as an object where no thread is named", async () => {
    await using service = await open([say("1")])
    assert.strictEqual((await send(service, { content: "x", metadata: { a: 1 } })).status, 200)
    assert.deepStrictEqual(problemsIn(await onThread(service, { content: "x", metadata: { a: 1 } })), [
      "body.metadata string_type"
    ])
    for (const metadata of ["[1]", "{", "1", "null", "[".repeat(200)]) {
      assert.deepStrictEqual(problemsIn(await onThread(service, { content: "x", metadata })), [
        "body.metadata value_error"
      ])
    }
  })

  it("falls back to the assistant's description where no thread is named", async () => {
    const asks = (system: string | null) => [
      expect((request) => assert.strictEqual(request.system, system)),
      say("Hi.")
    ]
    await using service = await open([asks("described"), asks("prompted"), asks("given")])
    const assistant = { name: "A", description: "described", system_prompt: "prompted" }
    const { assistant_id } = (await service.call("POST", "/assistants", assistant)).body
    const { thread_id } = (await send(service, { content: "x", assistant_id: assistant_id.toUpperCase() })).body
    await service.call("POST", `/threads/${thread_id}/messages`, { content: "x" })
    const last = await send(service, {
      content: "x",
      thread_id,
      assistant_id: "00000000-0000-0000-0000-000000000000",
      system_prompt: "given"
    })
    assert.strictEqual(last.body.thread_id, thread_id)
  })

  it("has every problem told at once", async () => {
    await using service = await open([])
    const answer = await onThread(service, {
      content: 1,
      stream: "yes",
      memory: "auto",
      memory_pro: "Off",
      web_search: "auto",
      image_generation: "Auto",
      send_to_llm: "perhaps",
      custom_timestamp: "yesterday",
      thinking: { effort: "huge", budget_tokens: -1, max_tokens: 0, more: 1 },
      router: { sort: "name", max_price: { prompt: -1, more: 1 }, cost_tier: "none", more: 1 },
      tools: [{ type: "function", function: { name: "a b" } }, { type: "x" }, tool("t"), tool("t")],
      metadata: 1
    })
    assert.sameMembers(
      [...problemsIn(answer)],
      [
        "body.content string_type",
        "body.stream bool_type",
        "body.memory literal_error",
        "body.memory_pro literal_error",
        "body.web_search literal_error",
        "body.image_generation literal_error",
        "body.send_to_llm string_pattern_mismatch",
        "body.custom_timestamp value_error",
        "body.thinking.effort literal_error",
        "body.thinking.budget_tokens greater_than_equal",
        "body.thinking.max_tokens greater_than_equal",
        "body.thinking.more extra_forbidden",
        "body.router.sort literal_error",
        "body.router.max_price.prompt greater_than_equal",
        "body.router.max_price.more extra_forbidden",
        "body.router.cost_tier literal_error",
        "body.router.more extra_forbidden",
        "body.tools.0.function.name string_pattern_mismatch",
        "body.tools.1.type literal_error",
        "body.tools.3.function.name name_taken",
        "body.metadata string_type"
      ]
    )
  })

  it("has the problems of a form told like those of JSON", async () => {
    await using service = await open([])
    const answer = await send(
      service,
      new URLSearchParams({ stream: "maybe", tools: "[", thinking: '{"x":1}', memory: "x" })
    )
    assert.sameMembers(
      [...problemsIn(answer)],
      [
        "body.stream bool_parsing",
        "body.tools json_invalid",
        "body.thinking.x extra_forbidden",
        "body.memory literal_error",
        "body.content missing"
      ]
    )
  })

  it("has problems of path, query, header and body told together", async () => {
    await using service = await open([])
    const answer = await service.call(
      "POST",
      "/threads/x/runs/y/submit-tool-outputs?stream=perhaps",
      { tool_outputs: [{ tool_call_id: 1 }] },
      { headers: { "idempotency-key": "k".repeat(256) } }
    )
    assert.sameMembers(
      [...problemsIn(answer)],
      [
        "path.thread_id uuid_parsing",
        "query.stream string_pattern_mismatch",
        "header.idempotency-key too_long",
        "body.tool_outputs.0.tool_call_id string_type",
        "body.tool_outputs.0.output missing"
      ]
    )
  })

  it("counts names in characters, and takes none of blanks", async () => {
    await using service = await open([])
    const create = async (name: string) => (await service.call("POST", "/assistants", { name })).status
    assert.deepStrictEqual([await create("😀".repeat(255)), await create("a".repeat(255))], [200, 200])
    const invisible = ["\u200b\ufeff", "\u2800", "\u3164", "\u0000", "\u202e", "\ufe0f"]
    for (const name of ["😀".repeat(256), "a".repeat(256), "", " ", " \t\n\u00a0", ...invisible])
      assert.strictEqual(await create(name), 422, JSON.stringify(name.slice(0, 9)))
    for (const name of ["❤\ufe0f", "\u202eעדה", "\u{1F468}\u200d\u{1F469}", "ก", "\u0301"])
      assert.strictEqual(await create(name), 200)
    const found = await service.call("GET", `/assistants?name=${encodeURIComponent("😀".repeat(255))}`)
    assert.deepStrictEqual([found.status, found.body.length], [200, 1])
    assert.strictEqual((await service.call("GET", `/assistants?name=${"a".repeat(256)}`)).status, 422)
    const answer = await service.call("POST", "/assistants", { name: "a".repeat(256) })
    assert.deepStrictEqual(problemsIn(answer), ["body.name too_long"])
  })

  it.each([
    ["2026-02-28T00:00:00Z", 200],
    ["2024-02-29T23:59:59.5+14:00", 200],
    ["2026-12-31 23:59:59", 200],
    ["2026-02-29T00:00:00Z", 422],
    ["2026-02-30T00:00:00Z", 422],
    ["2026-04-31 10:00:00", 422],
    ["2026-13-01T00:00:00Z", 422],
    ["2026-00-10T00:00:00Z", 422],
    ["2026-01-00T00:00:00Z", 422],
    ["2026-01-01T24:30:00Z", 422]
  ])("takes a day that exists: %s", async (custom_timestamp, status) => {
    await using service = await open([])
    assert.strictEqual((await send(service, { content: "x", send_to_llm: "false", custom_timestamp })).status, status)
  })

  it("takes an empty name of a model or provider for none, in every encoding", async () => {
    await using service = await open([say("1"), say("2")])
    const empty = { content: "x", model_name: "", llm_provider: "" }
    const plain = await send(service, empty)
    const encoded = await send(service, form(empty))
    assert.deepStrictEqual([plain.status, encoded.status], [200, 200])
    assert.notStrictEqual(plain.body.model_name, "")
    assert.strictEqual(plain.body.model_name, encoded.body.model_name)
    const names = { llm_provider: "", model_name: "", embedding_provider: "", embedding_model_name: "" }
    const { body } = await service.call("POST", "/assistants", { name: "a", ...names })
    assert.deepStrictEqual([body.llm_provider, body.model_name], [null, null])
    assert.notStrictEqual(body.embedding_model_name, "")
  })

  it("removes the model of an assistant by an empty name, and keeps it when the field is null or absent", async () => {
    await using service = await open([])
    const made = { name: "a", llm_provider: "scripted", model_name: "script" }
    const { body } = await service.call("POST", "/assistants", made)
    const update = async (fields: object) => {
      const changed = await service.call("PUT", `/assistants/${body.assistant_id}`, fields)
      return [changed.status, changed.body.llm_provider, changed.body.model_name]
    }
    assert.deepStrictEqual(await update({ model_name: null, llm_provider: null }), [200, "scripted", "script"])
    assert.deepStrictEqual(await update({ name: "b" }), [200, "scripted", "script"])
    assert.deepStrictEqual(await update({ model_name: "" }), [200, "scripted", null])
    assert.deepStrictEqual(await update({ llm_provider: " " }), [200, null, null])
  })

  it("tells when one text is both the description and the system prompt of a new assistant", async () => {
    await using service = await open([])
    const notes = async (fields: object) =>
      (await service.call("POST", "/assistants", { name: "a", ...fields })).body.notes
    const [note] = await notes({ description: "Sells tea" })
    assert.strictEqual(
      note,
      "system_prompt was not given, so it is the text of description. Send both, if they are to differ."
    )
    assert.include((await notes({ system_prompt: "Be brief." }))[0], "description was not given")
    assert.isUndefined(await notes({}))
    assert.isUndefined(await notes({ description: "Sells tea", system_prompt: "Be brief." }))
  })

  it("takes any JSON as the output of a tool; a text goes to the model as it is", async () => {
    const outputs = ["sun", { degrees: 20 }, [1, null], 7, true, null]
    await using service = await open(
      outputs.flatMap((_, index) => [callTool("weather", {}, `call-${index}`), say("ok")])
    )
    const weather = { type: "function", function: { name: "weather" } }
    for (const output of outputs) {
      const called = await service.call("POST", "/threads/messages", { content: "?", tools: [weather] })
      const answered = await service.call("POST", "/threads/tool-outputs", {
        thread_id: called.body.thread_id,
        tool_outputs: [{ tool_call_id: called.body.tool_calls[0].id, output }]
      })
      assert.strictEqual(answered.status, 200, JSON.stringify(answered.body))
    }
    assert.deepStrictEqual(
      service.model.requests.flatMap(({ messages }) => {
        const last = messages.at(-1)
        return last?.role === "tool" ? [last.output] : []
      }),
      ["sun", '{"degrees":20}', "[1,null]", "7", "true", "null"]
    )
  })

  it("refuses an embedding provider that is not there, before anything of the assistant is stored", async () => {
    await using service = await open([])
    const refusal = await service.call("POST", "/assistants", { name: "a", embedding_provider: "nobody" })
    assert.strictEqual(refusal.status, 422)
    assert.deepStrictEqual(problemsIn(refusal), ["body.embedding_provider provider_not_found"])
    assert.deepStrictEqual((await service.call("GET", "/assistants")).body, [])
  })

  it("takes memory_pro for off when it says so", async () => {
    await using service = await open([say("1")])
    assert.strictEqual((await send(service, { content: "x", memory_pro: "off", memory: "off" })).status, 200)
    const both = await send(service, { content: "x", memory_pro: "off", memory: "Auto" })
    assert.deepStrictEqual(problemsIn(both), ["body.memory not_available"])
  })

  const refused: ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>, ReadonlyArray<string>]> = [
    ["memory", { memory: "Auto" }, ["body.memory not_available"]],
    ["read-only memory", { memory: "Readonly" }, ["body.memory not_available"]],
    ["memory pro", { memory_pro: "Auto" }, ["body.memory_pro not_available"]],
    ["memory off with memory pro", { memory: "off", memory_pro: "Readonly" }, ["body.memory_pro not_available"]],
    [
      "both memories",
      { memory: "Auto", memory_pro: "Auto" },
      ["body.memory_pro conflict", "body.memory not_available", "body.memory_pro not_available"]
    ],
    ["web search", { web_search: "Auto" }, ["body.web_search not_available"]],
    [
      "image generation",
      { image_generation: "auto", image_model_name: "m" },
      ["body.image_model_provider missing", "body.image_generation not_available"]
    ],
    [
      "video generation",
      { video_generation: "auto" },
      ["body.video_model_provider missing", "body.video_model_name missing", "body.video_generation not_available"]
    ],
    ["speech-to-text", { voice: { stt: {} } }, ["body.voice.stt not_available", "body.audio_file missing"]],
    ["text-to-speech", { voice: { tts: {} } }, ["body.voice.tts not_available"]],
    [
      "typed answers",
      { system_one: { questions: { q: { type: "noul", instructions: "?" } } }, content: null },
      ["body.system_one not_available"]
    ],
    ["empty text", { content: " \n " }, ["body.content missing"]],
    [
      "provider options of video",
      { video_config: { provider: { zdr: true }, more: 1 } },
      ["body.video_config.provider.zdr extra_forbidden", "body.video_config.more extra_forbidden"]
    ]
  ]
  it.each(refused)("is refused by name for %s", async (_name, fields, problems) => {
    await using service = await open([])
    assert.sameMembers([...problemsIn(await send(service, { content: "Hello", ...fields }))], [...problems])
  })

  it("of an import is lines only when it is sent as such: a list in JSON is refused", async () => {
    await using service = await open([])
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const path = `/assistants/${assistant_id}/threads/import`
    for (const list of [[], ['{"role": "user", "content": "Hello"}']])
      assert.deepStrictEqual(problemsIn(await service.call("POST", path, list)), ["body value_error"])
  })

  it("of unknown fields alone is refused with what is missing", async () => {
    await using service = await open([])
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const { thread_id } = (await service.call("POST", `/assistants/${assistant_id}/threads`)).body
    const answer = await service.call("PUT", `/threads/${thread_id}`, { meta: {} })
    assert.deepStrictEqual(problemsIn(answer), ["body.metadata value_error"])
  })

  it("ignores what its endpoint does not have", async () => {
    await using service = await open([say("1"), say("2")])
    assert.strictEqual((await send(service, { content: "x", router: { anything: 1 } })).status, 200)
    assert.strictEqual((await onThread(service, { content: "x", video_generation: "auto" })).status, 200)
  })

  it("may not carry files yet, and says so for each; never files of an unknown kind", async () => {
    await using service = await open([])
    const body = form({ content: "Look", audio_file: new File(["x"], "a.mp3") })
    body.append("files", new File(["x"], "a.pdf"))
    body.append("files", new File(["y"], "B.PNG"))
    assert.sameMembers(
      [...problemsIn(await send(service, body))],
      ["body.files.0 not_available", "body.files.1 not_available", "body.audio_file not_available"]
    )
    body.append("files", new File(["z"], "virus.exe"))
    const answer = await send(service, body)
    assert.deepStrictEqual([answer.status, answer.body.detail], [415, 'Files like "virus.exe" are not supported.'])
  })
})

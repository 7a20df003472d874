/**
 * A body of any size and form holds up the thread that serves it for at most 50 ms at a time. What counts is the CPU of that thread, and the
 * least of a few runs: first runs and collections of garbage only add to it.
 */
import { createServer } from "node:http"
import { InMemory } from "@colloquy/adapters/in-memory"
import { Pglite } from "@colloquy/adapters/pglite"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { longestStretch, onThisMachine } from "../../../test/LongestStretch.ts"
import { openai } from "../src/openai/index.ts"
import { openWithDocuments } from "./DocumentService.ts"
import { openEvals } from "./EvalStories.ts"
import { farClient } from "./FarClient.ts"
import { keys, openRemembering, type Service } from "./Service.ts"
import { listen } from "./Sockets.ts"

const most = onThisMachine(50)
const runs = 12

interface Case {
  readonly what: string
  readonly path: "message" | "import" | "/v1/chat/completions" | "/v1/responses" | "/threads/messages"
  readonly type?: string
  readonly body: () => string
  readonly status: number
}

const megabytes = (count: number, pattern: string): string =>
  pattern.repeat(Math.floor((count * 1024 * 1024) / pattern.length))
const many = (count: number, make: (index: number) => string): string =>
  Array.from({ length: count }, (_, at) => make(at)).join(",")

const form = "application/x-www-form-urlencoded"
const lines = "application/x-ndjson"
const model = '"model":"endless/echo"'
const nested = `${"[".repeat(90)}${"]".repeat(90)},`
const picture = (base64: string) =>
  `{${model},"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,${base64}"}}]}]}`

const cases: ReadonlyArray<Case> = [
  { what: "one long text", path: "message", body: () => `{"content":"${megabytes(7.9, "a")}"}`, status: 413 },
  {
    what: "nothing but escapes",
    path: "message",
    body: () => `{"content":"${megabytes(7.9, String.raw`\"`)}"}`,
    status: 413
  },
  { what: "nothing but spaces", path: "message", body: () => `{"content":"a"${megabytes(7.9, " ")}}`, status: 200 },
  { what: "brackets in brackets", path: "message", body: () => `{"content":[${nested.repeat(40_000)}1]}`, status: 400 },
  {
    what: "as many fields as it may have",
    path: "message",
    body: () => `{"content":"a",${many(9_900, (at) => `"f${at}":1`)}}`,
    status: 200
  },
  {
    what: "tools that are none",
    path: "message",
    body: () => `{"content":"a","tools":[${many(9_900, () => "{}")}]}`,
    status: 422
  },
  { what: "a form of spaces", path: "message", type: form, body: () => `content=${megabytes(7.9, "+")}`, status: 413 },
  {
    what: "a form of escapes",
    path: "message",
    type: form,
    body: () => `content=${megabytes(7.9, "a%41")}`,
    status: 413
  },
  { what: "a form of nothing", path: "message", type: form, body: () => megabytes(7.9, "&"), status: 422 },
  { what: "40 MB of short lines", path: "import", type: lines, body: () => megabytes(20, "é\n"), status: 422 },
  { what: "one line of 40 MB", path: "import", type: lines, body: () => megabytes(20, "é"), status: 422 },
  {
    what: "a line of lists",
    path: "import",
    type: lines,
    body: () => `{"content":"a","metadata":{"a":[${"[],".repeat(160_000)}1]}}`,
    status: 200
  },
  {
    what: "a text of 40 MB",
    path: "/v1/chat/completions",
    body: () => `{${model},"messages":[{"role":"user","content":"${megabytes(40, "a")}"}]}`,
    status: 413
  },
  { what: "a picture of 40 MB", path: "/v1/chat/completions", body: () => picture(megabytes(40, "AAAA")), status: 200 },
  {
    what: "a picture of 40 MB with escapes",
    path: "/v1/chat/completions",
    body: () => picture(megabytes(40, String.raw`AAA\/`)),
    status: 200
  },
  {
    what: "a picture that ends as none",
    path: "/v1/chat/completions",
    body: () => picture(`${megabytes(40, "AAAA")}!`),
    status: 400
  },
  {
    what: "many pictures",
    path: "/v1/chat/completions",
    body: () =>
      `{${model},"messages":[{"role":"user","content":[${many(100, () => `{"type":"image_url","image_url":{"url":"data:image/png;base64,${"AAAA".repeat(100_000)}"}}`)}]},{"role":"user","content":"a"}]}`,
    status: 200
  },
  {
    what: "a long conversation",
    path: "/v1/chat/completions",
    body: () => `{${model},"messages":[${many(3_300, () => '{"role":"user","content":"a"}')}]}`,
    status: 200
  },
  {
    what: "messages that are none",
    path: "/v1/responses",
    body: () => `{${model},"input":[${many(9_900, () => "{}")}]}`,
    status: 400
  }
]

const behind = async (service: Service) => {
  const server = await listen(createServer(service.node))
  const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
  const { thread_id } = (await service.call("POST", `/assistants/${assistant_id}/threads`)).body
  const paths: Readonly<Record<string, string>> = {
    message: `/threads/${thread_id}/messages`,
    import: `/assistants/${assistant_id}/memories/import`
  }
  return { server, url: (path: Case["path"]) => `${server.url}${paths[path] ?? path}` }
}

/** The longest stretch of the quietest run. */
const quietest = async (work: () => Promise<unknown>): Promise<number> => {
  let least = Infinity
  for (let run = 0; run < runs && least > most; run++) {
    const stretch = longestStretch()
    await work()
    least = Math.min(least, stretch.end())
  }
  return least
}

describe("a large body leaves others their turn:", () => {
  it.each(cases)("$what", { timeout: 120_000 }, async ({ body, path, status, type = "application/json" }) => {
    await using service = await openRemembering(InMemory.layer, { wings: [openai] })
    const { server, url } = await behind(service)
    await using _server = server
    await using client = farClient()
    const sent = body()
    const least = await quietest(async () => {
      const answer = await client.post(url(path), sent, { "x-api-key": keys.ada, "content-type": type })
      assert.strictEqual(answer.status, status, answer.text)
    })
    assert.isAtMost(least, most)
  })

  it.each([
    { store: "in memory", layer: InMemory.layer },
    { store: "on PGlite", layer: Pglite.layer() }
  ])("a list of 40 MB, and what it is made of, $store", { timeout: 120_000 }, async ({ layer }) => {
    await using service = await openRemembering(layer, {})
    const { server, url } = await behind(service)
    await using _server = server
    await using client = farClient()
    const headers = { "x-api-key": keys.ada, "content-type": "application/json" }
    const text = JSON.stringify({ content: megabytes(0.9, "a"), send_to_llm: false })
    for (let message = 0; message < 45; message++) await client.post(url("message"), text, headers)
    const thread = url("message").replace("/messages", "")
    for (const all of [thread, `${server.url}/owners/me/export`]) {
      const least = await quietest(async () => {
        const answer = await client.get(all, headers)
        assert.isAbove(answer.size, 40 * 1024 * 1024)
      })
      assert.isAtMost(least, most, all)
    }
  })

  it.each([
    { what: "more cases than one import may have", line: '{"question":"a"}\n', size: 7.9, status: 422 },
    { what: "as many cases", line: `{"question":"${"a".repeat(830)}"}\n`, size: 7.9, status: 429 },
    { what: "lines that are no cases", line: "[]\n", size: 7.9, status: 422 },
    { what: "more bytes of cases than it takes", line: '{"question":"a"}\n', size: 9, status: 413 }
  ])("$what on lines", { timeout: 120_000 }, async ({ line, size, status }) => {
    await using service = await openEvals([], InMemory.layer)
    const server = await listen(createServer(service.node))
    await using _server = server
    await using client = farClient()
    const sent = megabytes(size, line)
    const headers = { "x-api-key": keys.ada, "content-type": lines, "idempotency-key": "cases" }
    const least = await quietest(async () => {
      const answer = await client.post(`${server.url}/evals/cases/import`, sent, headers)
      assert.strictEqual(answer.status, status, answer.text)
    })
    assert.isAtMost(least, most)
  })

  it("a picture of 30 MB for a conversation that is kept", { timeout: 120_000 }, async () => {
    await using service = await openWithDocuments(InMemory.layer, {
      http: { wings: [openai] },
      extract: () => Effect.succeed([])
    })
    const { server, url } = await behind(service)
    await using _server = server
    await using client = farClient()
    const png = Buffer.concat([Buffer.from("iVBORw0KGgo=", "base64"), Buffer.alloc(30 * 1024 * 1024)]).toString(
      "base64"
    )
    const sent = `{"model":"reciting/recital","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,${png}"}]}]}`
    const headers = { "x-api-key": keys.ada, "content-type": "application/json" }
    const least = await quietest(async () => {
      // It was received, and is more than models take.
      assert.include((await client.post(url("/v1/responses"), sent, headers)).text, "at most 3.7 MB")
    })
    assert.isAtMost(least, most)
  })
})

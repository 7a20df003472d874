/** OpenAI's own client against the standalone server, configured like an existing program: with an address, a key and a model. */
import { assert, describe, it } from "@effect/vitest"
import OpenAI from "openai"
import { onEmbedded, onPostgres } from "../../../test/databases.ts"
import type { Environment } from "../src/Settings.ts"
import { caller, startDemo } from "./TestServer.ts"

const open = async (environment: Environment = {}) => {
  const server = await startDemo({ COLLOQUY_API_KEYS: "key-of-ada-0123456=ada,key-of-bob-0123456=bob", ...environment })
  const ask = caller(server, "key-of-ada-0123456")
  const client = (path = "/v1", apiKey = "key-of-ada-0123456") =>
    new OpenAI({ baseURL: server.url + path, apiKey, maxRetries: 0 })
  return { ...server, ask, client, [Symbol.asyncDispose]: () => server.stop() }
}

const model = "demo/demo-1"

const story = (environment: Environment) => async () => {
  await using server = await open(environment)
  const { length: before } = await server.ask("GET", "/threads")
  for (const path of ["/v1", "/api/v1"]) {
    const client = server.client(path)
    const chat = await client.chat.completions.create({ model, messages: [{ role: "user", content: "count to 3" }] })
    assert.strictEqual(chat.choices[0]?.message.content, "1 2 3")
  }
  while ((await server.ask("GET", "/threads")).length > before);
  assert.lengthOf(
    (await server.ask("GET", "/assistants")).filter(({ name }: { name: string }) => name === "Assistant"),
    0
  )

  const client = server.client()
  const first = await client.responses.create({ model, input: "count to 3" })
  assert.strictEqual(first.output_text, "1 2 3")
  const next = client.responses.stream({ model, input: "count to 4", previous_response_id: first.id })
  assert.strictEqual((await next.finalResponse()).output_text, "1 2 3 4")
  const stored = await client.responses.retrieve(first.id)
  assert.deepStrictEqual(
    [stored.output_text, stored.status, stored.created_at],
    ["1 2 3", "completed", first.created_at]
  )
  const fork = await client.responses.create({ model, input: "count to 5", previous_response_id: first.id })
  assert.strictEqual(fork.output_text, "1 2 3 4 5")
  const stranger = server.client("/v1", "key-of-bob-0123456")
  assert.strictEqual(
    await stranger.responses.retrieve(first.id).catch((error: unknown) => error instanceof OpenAI.NotFoundError),
    true
  )
  for (const id of [first.id, fork.id, (await next.finalResponse()).id]) await client.responses.delete(id)
  assert.lengthOf(await server.ask("GET", "/threads"), before)
  const ids: Array<string> = []
  for await (const each of client.models.list()) ids.push(each.id)
  assert.include(ids, model)
}

describe("OpenAI's client on the standalone server", () => {
  onEmbedded("PGlite", () => {
    it("talks, goes on, forks and leaves nothing behind", story({}))
  })
  onPostgres((url) => {
    it("talks, goes on, forks and leaves nothing behind", story({ DATABASE_URL: url }))
  })
})

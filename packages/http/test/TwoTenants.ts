/**
 * Two owners on one service: whatever one of them tries with the other's ids, over the whole surface, is answered exactly like ids that do
 * not exist, and changes nothing. Runs on every store.
 */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { keys, openEndless, type Service, tool } from "./Service.ts"

type Owner = "ada" | "bob"

interface Ids {
  readonly assistant: string
  readonly thread: string
  readonly run: string
  readonly call: string
}

/** Every endpoint that takes an id, by the ids that it takes. */
const surface: ReadonlyArray<readonly [string, (ids: Ids) => string, ((ids: Ids) => unknown)?]> = [
  ["GET", ({ assistant }) => `/assistants/${assistant}`],
  ["PUT", ({ assistant }) => `/assistants/${assistant}`, () => ({ name: "Taken" })],
  ["POST", ({ assistant }) => `/assistants/${assistant}/clone`, () => ({ name: "Copied" })],
  ["GET", ({ assistant }) => `/assistants/${assistant}/threads`],
  ["POST", ({ assistant }) => `/assistants/${assistant}/threads`, () => ({})],
  ["GET", ({ thread }) => `/threads/${thread}`],
  ["POST", ({ thread }) => `/threads/${thread}/messages`, () => ({ content: "Hello" })],
  [
    "POST",
    ({ thread }) => `/threads/${thread}/messages`,
    () => ({ content: "Hello", stream: true, send_to_llm: false })
  ],
  ["POST", () => "/threads/messages", ({ thread }) => ({ content: "Hello", thread_id: thread })],
  ["POST", () => "/threads/messages", ({ assistant }) => ({ content: "Hello", assistant_id: assistant })],
  ["GET", ({ run, thread }) => `/threads/${thread}/runs/${run}`],
  ["GET", ({ run, thread }) => `/threads/${thread}/runs/${run}/events`],
  ["GET", ({ run, thread }) => `/threads/${thread}/runs/${run}/events?after=1`],
  [
    "POST",
    ({ run, thread }) => `/threads/${thread}/runs/${run}/submit-tool-outputs`,
    ({ call }) => ({ tool_outputs: [{ tool_call_id: call, output: "x" }] })
  ],
  [
    "POST",
    () => "/threads/tool-outputs",
    ({ call, thread }) => ({ thread_id: thread, tool_outputs: [{ tool_call_id: call, output: "x" }] })
  ],
  ["POST", ({ run, thread }) => `/threads/${thread}/runs/${run}/cancel`],
  ["DELETE", ({ thread }) => `/threads/${thread}`],
  ["DELETE", ({ assistant }) => `/assistants/${assistant}`]
]

const unknownIds = (): Ids => ({
  assistant: globalThis.crypto.randomUUID(),
  thread: globalThis.crypto.randomUUID(),
  run: globalThis.crypto.randomUUID(),
  call: globalThis.crypto.randomUUID()
})

const without = (ids: Ids, text: string) => Object.values(ids).reduce((rest, id) => rest.replaceAll(id, "<id>"), text)

export const twoTenants = (stores: Layer.Layer<InMemory.Stores, unknown>): void => {
  let service: Service
  beforeAll(async () => {
    service = await openEndless(stores)
  }, 60_000)
  afterAll(() => service[Symbol.asyncDispose]())

  const as =
    (owner: Owner) =>
    async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      service.call(method, path, body, { key: keys[owner], headers })

  /** A conversation that waits for tool outputs. */
  const settle = async (owner: Owner): Promise<Ids> => {
    const call = as(owner)
    const assistant = (await call("POST", "/assistants", { name: `Of ${owner}`, tools: [tool("weather")] })).body
      .assistant_id
    const { body } = await call("POST", "/threads/messages", { content: `Secret of ${owner}`, assistant_id: assistant })
    return { assistant, thread: body.thread_id, run: body.run_id, call: body.tool_calls[0].id }
  }

  /** All that an owner can see of his own. */
  const view = async (owner: Owner, ids: Ids) => {
    const call = as(owner)
    const answers = [
      await call("GET", `/assistants/${ids.assistant}`),
      await call("GET", `/threads/${ids.thread}`),
      await call("GET", `/threads/${ids.thread}/runs/${ids.run}`),
      await call("GET", `/assistants/${ids.assistant}/threads`)
    ]
    return answers.map(({ status, text }) => `${status} ${text}`).join("\n")
  }

  it("another's ids are answered like ids that do not exist, and nothing changes", async () => {
    const hers = await settle("ada")
    await settle("bob")
    const before = await view("ada", hers)
    const call = as("bob")
    for (const [method, pathFor, bodyFor] of surface) {
      const nobodys = unknownIds()
      const foreign = await call(method, pathFor(hers), bodyFor?.(hers))
      const unknown = await call(method, pathFor(nobodys), bodyFor?.(nobodys))
      const what = `${method} ${without(hers, pathFor(hers))}`
      assert.strictEqual(foreign.status, 404, `${what}: ${foreign.text}`)
      assert.strictEqual(without(hers, foreign.text), without(nobodys, unknown.text), what)
      assert.sameMembers([...foreign.headers.keys()], [...unknown.headers.keys()], what)
    }
    assert.strictEqual(await view("ada", hers), before)
  })

  it("an id of one's own does not open another's beside it", async () => {
    const [hers, his] = [await settle("ada"), await settle("bob")]
    const call = as("bob")
    const mixed = [
      { ...his, run: hers.run },
      { ...hers, run: his.run }
    ]
    for (const ids of mixed) {
      for (const [method, pathFor, bodyFor] of surface.filter(([, path]) => path(ids).includes("/runs/"))) {
        assert.strictEqual((await call(method, pathFor(ids), bodyFor?.(ids))).status, 404)
      }
    }
    const outputs = { thread_id: his.thread, tool_outputs: [{ tool_call_id: hers.call, output: "x" }] }
    assert.strictEqual((await call("POST", "/threads/tool-outputs", outputs)).status, 422)
  })

  it("a key for repeats belongs to its owner", async () => {
    const [hers, his] = [await settle("ada"), await settle("bob")]
    const headers = { "idempotency-key": "the-same" }
    const first = await as("ada")("POST", "/threads/messages", { content: "Hello" }, headers)
    const other = await as("bob")("POST", "/threads/messages", { content: "Hello" }, headers)
    assert.deepStrictEqual([first.status, other.status], [200, 200])
    assert.notStrictEqual(first.body.run_id, other.body.run_id)
    assert.notInclude([hers.thread, his.thread], other.body.thread_id)
    const again = await as("ada")("POST", "/threads/messages", { content: "Hello" }, headers)
    assert.strictEqual(again.body.run_id, first.body.run_id)
  })

  const step = Schema.Struct({
    owner: Schema.Literals(["ada", "bob"]),
    endpoint: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: surface.length - 1 })),
    assistant: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 })),
    thread: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 }))
  })

  it.effect.prop(
    "nobody sees or changes what is not his, whatever both do in turn",
    [Schema.Array(step)],
    ([steps]) =>
      Effect.promise(async () => {
        const pool: Array<Ids & { readonly owner: Owner }> = []
        for (const owner of ["ada", "bob"] as const) pool.push({ owner, ...(await settle(owner)) })
        for (const { assistant, endpoint, owner, thread } of steps) {
          const [method, pathFor, bodyFor] = surface[endpoint] ?? surface[0] ?? assert.fail("no endpoint")
          const a = pool[assistant % pool.length] ?? assert.fail("no ids")
          const t = pool[thread % pool.length] ?? assert.fail("no ids")
          const ids = { assistant: a.assistant, thread: t.thread, run: t.run, call: t.call }
          const answer = await as(owner)(method, pathFor(ids), bodyFor?.(ids))
          assert.isBelow(answer.status, 500, answer.text)
          const other = owner === "ada" ? "bob" : "ada"
          assert.notInclude(answer.text, `Of ${other}`)
          assert.notInclude(answer.text, `Secret of ${other}`)
        }
        for (const owner of ["ada", "bob"] as const) {
          const others = pool.filter((ids) => ids.owner !== owner)
          const lists = [await as(owner)("GET", "/assistants?limit=200"), await as(owner)("GET", "/threads?limit=200")]
          for (const { assistant, thread } of others) {
            assert.isFalse(lists.some(({ text }) => text.includes(assistant) || text.includes(thread)))
          }
        }
      }),
    { arbitrary: { runs: 12, seed: 7 }, timeout: 60_000 }
  )
}

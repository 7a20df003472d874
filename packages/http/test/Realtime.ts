/** Tickets of voice sessions over HTTP, the same on every store: whose thread they are for, what they are bound to, what is refused. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { Client } from "../src/index.ts"
import { keys, openVoice } from "./Service.ts"

const path = "/threads/realtime/tickets"
const origin = "https://app.example"

export const realtimeTickets = (stores: Layer.Layer<InMemory.Stores, unknown>): void => {
  let service: Awaited<ReturnType<typeof openVoice>>
  beforeAll(async () => {
    service = await openVoice(stores)
  }, 60_000)
  afterAll(() => service[Symbol.asyncDispose]())

  const ask = (body?: unknown, headers: Record<string, string> = {}, key = keys.ada) =>
    service.call("POST", path, body, { key, headers })

  const redeem = (ticket: string, from: string | null) =>
    Effect.runPromise(Effect.result(service.tickets.redeem(Redacted.make(ticket), from)))

  it("a ticket: single use, 60 seconds, without the base path, for a new assistant and thread when no id is given", async () => {
    for (const body of [undefined, {}, { thread_id: null, assistant_id: null, chat_thread_id: null, more: 1 }]) {
      const { body: issued, status } = await ask(body)
      assert.strictEqual(status, 200)
      const { assistant_id, thread_id, ticket, ...rest } = issued
      assert.deepStrictEqual(rest, { expires_in: 60, websocket_path: "/threads/realtime" })
      assert.strictEqual((await service.call("GET", `/threads/${thread_id}`)).body.assistant_id, assistant_id)
      const first = await redeem(ticket, null)
      assert.deepInclude(Result.isSuccess(first) ? first.success : {}, {
        ownerId: "ada",
        threadId: thread_id,
        assistantId: assistant_id,
        origin: null
      })
      const second = await redeem(ticket, null)
      assert.strictEqual(Result.isFailure(second) && second.failure._tag, "TicketInvalid")
    }
  })

  it("a ticket is bound to the Origin header of its request, and used up by a wrong one", async () => {
    const { body } = await ask({}, { origin })
    const wrong = await redeem(body.ticket, "https://evil.example")
    assert.strictEqual(Result.isFailure(wrong) && wrong.failure._tag, "OriginMismatch")
    assert.isTrue(Result.isFailure(await redeem(body.ticket, origin)))
    const other = await ask({}, { origin })
    assert.isTrue(Result.isSuccess(await redeem(other.body.ticket, origin)))
  })

  it("a ticket is for the thread that is named, else for a new one of the assistant that is named", async () => {
    const made = (await ask()).body
    const of = async (body: object) => (await ask(body)).body
    assert.deepInclude(await of({ thread_id: made.thread_id }), { ...ticketIds(made) })
    assert.deepInclude(await of({ chat_thread_id: made.thread_id.toUpperCase() }), { ...ticketIds(made) })
    const other = (await ask()).body
    const both = await of({ thread_id: made.thread_id, assistant_id: other.assistant_id })
    assert.deepStrictEqual(ticketIds(both), ticketIds(made))
    const fresh = await of({ assistant_id: made.assistant_id })
    assert.strictEqual(fresh.assistant_id, made.assistant_id)
    assert.notStrictEqual(fresh.thread_id, made.thread_id)
  })

  it("chat_thread_id is not combined with the other identifiers; every problem is a 422", async () => {
    const { assistant_id, thread_id } = (await ask()).body
    for (const more of [{ thread_id }, { assistant_id }]) {
      const refused = await ask({ chat_thread_id: thread_id, ...more })
      assert.strictEqual(refused.status, 422)
      assert.deepInclude(refused.body.detail[0], { loc: ["body", "chat_thread_id"], type: "conflict" })
    }
    const wrong = await ask({ chat_thread_id: 1, thread_id: true, assistant_id: [] })
    assert.strictEqual(wrong.status, 422)
    assert.sameMembers(
      wrong.body.detail.map(({ loc }: { loc: Array<string> }) => loc.at(1)),
      ["chat_thread_id", "thread_id", "assistant_id"]
    )
    assert.strictEqual((await ask([])).status, 422)
    assert.strictEqual((await ask("{", { "content-type": "application/json" })).status, 400)
  })

  it("ids that are unknown, malformed or another user's are 404, and make nothing", async () => {
    const hers = (await ask()).body
    const threads = async () => (await service.call("GET", "/threads?limit=200", undefined, { key: keys.bob })).body
    const before = await threads()
    const unknown = crypto.randomUUID()
    for (const [theirs, nobodys] of [
      [{ thread_id: hers.thread_id }, { thread_id: unknown }],
      [{ chat_thread_id: hers.thread_id }, { chat_thread_id: unknown }],
      [{ assistant_id: hers.assistant_id }, { assistant_id: unknown }]
    ] as const) {
      const [foreign, missing] = [await ask(theirs, {}, keys.bob), await ask(nobodys, {}, keys.bob)]
      assert.deepStrictEqual([foreign.status, missing.status], [404, 404])
      const masked = (text: string) =>
        [unknown, hers.thread_id, hers.assistant_id].reduce((rest: string, id) => rest.replaceAll(id, "<id>"), text)
      assert.strictEqual(masked(foreign.text), masked(missing.text))
    }
    for (const id of ["", "x", "../..", "\u0000", "x".repeat(10_000)]) {
      for (const name of ["thread_id", "chat_thread_id", "assistant_id"]) {
        assert.strictEqual((await ask({ [name]: id }, {}, keys.bob)).status, 404, `${name} ${id.slice(0, 10)}`)
      }
    }
    assert.deepStrictEqual(await threads(), before)
  })

  it("a ticket of one's own does not reach another's thread: it is the owner's", async () => {
    const his = await ask({}, {}, keys.bob)
    const used = await redeem(his.body.ticket, null)
    assert.strictEqual(Result.isSuccess(used) ? String(used.success.ownerId) : "", "bob")
    assert.strictEqual((await service.call("GET", `/threads/${his.body.thread_id}`)).status, 404)
  })

  it("the typed client asks for one", async () => {
    const client = await Client.connect({ baseUrl: "http://in.process", apiKey: keys.ada, handler: service.handler })
    const issued = await client.realtime.issueTicket()
    assert.strictEqual(issued.expires_in, 60)
    const again = await client.realtime.issueTicket({ thread_id: issued.thread_id })
    assert.strictEqual(again.assistant_id, issued.assistant_id)
    assert.notStrictEqual(again.ticket, issued.ticket)
  })

  it("a plain GET of the socket's path is 426, without a key", async () => {
    const plain = await service.call("GET", "/threads/realtime", undefined, { key: null })
    assert.deepStrictEqual([plain.status, plain.headers.get("upgrade")], [426, "websocket"])
  })
}

const ticketIds = ({ assistant_id, thread_id }: { readonly assistant_id: string; readonly thread_id: string }) => ({
  assistant_id,
  thread_id
})

/**
 * Voice sessions on two servers over one database: one writer per thread, a ticket that is valid once, and a process that is killed in the
 * middle of a session. The conversation is kept, and the thread can be used again within seconds.
 */
import { assert, it } from "@effect/vitest"
import { openAiClient } from "../../ws/test/OpenAiClient.ts"
import { onPostgres } from "../../../test/databases.ts"
import { scratchDatabase } from "./ScratchDatabase.ts"
import { spawnServer } from "./ServerProcess.ts"
import { callApi } from "./TestServer.ts"
import { firstFrame, talk, withHeaders } from "./VoiceTalk.ts"
import { until } from "../../../test/until.ts"

const keys = { ada: "key-of-ada-0123456", bob: "key-of-bob-0123456" }

const open = async (databaseUrl: string) => {
  const server = spawnServer({
    DATABASE_URL: databaseUrl,
    PORT: "0",
    COLLOQUY_API_KEYS: Object.entries(keys)
      .map(([owner, key]) => `${key}=${owner}`)
      .join(","),
    RUN_LEASE_SECONDS: "3"
  })
  const api = /listens on (\S+),/.exec(await server.printed(/Documentation/))?.[1] ?? assert.fail(server.output())
  const call = (method: string, path: string, body?: object, key = keys.ada) =>
    callApi({ api, key }, method, path, body)
  const url = `${api.replace("http:", "ws:")}/threads/realtime`
  const session = (fields: object = {}, key = keys.ada) =>
    talk({ url, first: { ...firstFrame, ...fields }, open: withHeaders({ "x-api-key": key }) })
  const withTicket = (ticket: string) => talk({ url, ticket, first: firstFrame })
  const openAi = (query = "", key = keys.ada) =>
    openAiClient({ baseURL: `${new URL(api).origin}/v1${query}`, key, model: "demo/demo-voice-1" })
  return { call, session, openAi, withTicket, server, [Symbol.asyncDispose]: server[Symbol.asyncDispose] }
}

const rolesAndContents = (body: {
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content: string }>
}) => body.messages.map(({ content, role }) => [role, content])

onPostgres((url) => {
  it(
    "while a session writes its thread, a turn and a removal on any server are 409 and say why; a second session is session_conflict",
    { timeout: 240_000 },
    async () => {
      await using database = await scratchDatabase(url)
      await using one = await open(database.url)
      await using two = await open(database.url)
      const session = one.session()
      const { assistant_id, thread_id } = await session.heard("session.begin")
      for (const server of [one, two]) {
        const path = `/threads/${thread_id}`
        for (const [method, at, body] of [
          ["POST", `${path}/messages`, { content: "Hello" }],
          ["POST", `${path}/messages`, { content: "Hello", stream: true }],
          ["POST", `${path}/messages`, { content: "Hello", send_to_llm: "false" }],
          ["POST", "/threads/messages", { content: "Hello", thread_id }],
          ["DELETE", path, undefined]
        ] as const) {
          const refused = await server.call(method, at, body)
          assert.strictEqual(refused.status, 409, `${method} ${at}`)
          assert.match(refused.body.detail, /realtime session/)
        }
        const second = server.session({ thread_id })
        assert.deepInclude(await second.answered(), { type: "error", code: "session_conflict" })
        assert.strictEqual(await second.closed(), 1008)
        const foreign = server.session({ thread_id }, keys.bob)
        assert.deepInclude(await foreign.answered(), { type: "error", code: "thread_not_found" })
        assert.strictEqual((await server.call("DELETE", path, undefined, keys.bob)).status, 404)
      }
      assert.deepStrictEqual((await two.call("GET", `/threads/${thread_id}`)).body.messages, [])
      await session.client.stop()
      assert.strictEqual((await two.call("POST", `/threads/${thread_id}/messages`, { content: "Hello" })).status, 200)
      const after = two.session({ thread_id, assistant_id })
      await after.heard("session.begin")
      await after.client.stop()
      assert.strictEqual((await one.call("DELETE", `/threads/${thread_id}`)).status, 200)
    }
  )

  it("a ticket that two servers redeem at once opens one session", { timeout: 240_000 }, async () => {
    await using database = await scratchDatabase(url)
    await using one = await open(database.url)
    await using two = await open(database.url)
    const { ticket } = (await one.call("POST", "/threads/realtime/tickets", {})).body
    const racing = [one, two, one, two].map((server) => server.withTicket(ticket))
    const answers = await Promise.all(racing.map(({ answered }) => answered()))
    const told = answers.map((answer) => (answer.type === "error" ? answer.code : answer.type))
    assert.sameMembers(told, ["session.begin", "ticket_invalid", "ticket_invalid", "ticket_invalid"])
    for (const { client } of racing) client.close()
  })

  it(
    "kill -9 under OpenAI's own client: it goes on with the thread on another server, and nobody else can",
    { timeout: 240_000 },
    async () => {
      await using database = await scratchDatabase(url)
      await using one = await open(database.url)
      await using two = await open(database.url)
      const first = await one.openAi()
      first.typed("One")
      const { conversation } = await first.next("conversation.created")
      await first.next("response.done")
      const kept = async () => rolesAndContents((await two.call("GET", `/threads/${conversation.id}`)).body)
      await until(async () => (await kept()).length >= 2)
      one.server.child.kill("SIGKILL")
      assert.strictEqual(await first.closed(), 1006)
      const query = `?thread_id=${conversation.id}`
      const stranger = await two.openAi(query, keys.bob)
      stranger.typed("Two")
      assert.strictEqual((await stranger.next("error")).error.code, "thread_not_found")
      await until(async () => {
        const next = await two.openAi(query)
        next.typed("Two")
        const answer = await next.until(() => next.all("response.done")[0] ?? next.all("error")[0])
        next.client.close()
        if (answer.type === "error") assert.strictEqual(answer.error.code, "session_conflict")
        return answer.type === "response.done"
      })
      await until(async () => (await kept()).length >= 4)
      assert.deepStrictEqual(
        (await kept()).map(([role, text]) => (role === "user" ? text : role)),
        ["One", "assistant", "Two", "assistant"]
      )
    }
  )

  it(
    "kill -9 in the middle of a session: what was said is kept, and another server goes on with the thread in seconds",
    { timeout: 240_000 },
    async () => {
      await using database = await scratchDatabase(url)
      await using one = await open(database.url)
      await using two = await open(database.url)
      const first = one.session()
      const { thread_id } = await first.heard("session.begin")
      first.client.sendText("One")
      await first.heard("response.done")
      const kept = async () => rolesAndContents((await two.call("GET", `/threads/${thread_id}`)).body)
      await until(async () => (await kept()).length >= 2)
      first.client.sendText("Two")
      const before = first.events.length
      await until(() => first.events.slice(before).some(({ type }) => type === "audio.delta"))
      one.server.child.kill("SIGKILL")
      assert.strictEqual(await first.closed(), 1006)
      const killedAt = performance.now()
      let second = two.session({ thread_id })
      await until(async () => {
        const answer = await second.answered()
        if (answer.type === "session.begin") return true
        assert.strictEqual(answer.type === "error" && answer.code, "session_conflict")
        second = two.session({ thread_id })
        return false
      })
      assert.isBelow(performance.now() - killedAt, 15_000)
      second.client.sendText("Three")
      await second.heard("response.done")
      await second.client.stop()
      const said = await kept()
      assert.deepStrictEqual(said[0], ["user", "One"])
      assert.strictEqual(said[1]?.[0], "assistant")
      const texts = said.flatMap(([role, content]) => (role === "user" ? [content] : []))
      // It is not known whether the second one was stored in time.
      assert.deepStrictEqual(
        texts.filter((text) => text !== "Two"),
        ["One", "Three"]
      )
    }
  )
})

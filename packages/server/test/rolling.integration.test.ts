/**
 * Servers that are replaced while they are used: two on one database, ended by signals one after the other under load. What a server has
 * accepted is answered; what it refuses is accepted by the other one. A killed server leaves a thread that can be used again within
 * seconds.
 */
import { assert, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { randomUUID } from "node:crypto"
import { onPostgres } from "../../../test/databases.ts"
import { scratchDatabase } from "./ScratchDatabase.ts"
import { type ServerProcess, spawnServer } from "./ServerProcess.ts"

const key = "rolling-key-0123456"

interface Running {
  readonly api: string
  readonly server: ServerProcess
}

const open = async (databaseUrl: string, environment: Readonly<Record<string, string>> = {}): Promise<Running> => {
  const server = spawnServer({
    DATABASE_URL: databaseUrl,
    PORT: "0",
    LIMITS: "off",
    COLLOQUY_API_KEYS: `${key}=ada`,
    ...environment
  })
  const api = /listens on (\S+),/.exec(await server.printed(/Documentation/))?.[1] ?? assert.fail(server.output())
  return { api, server }
}

const headers = { "x-api-key": key, "content-type": "application/json" }

const post = (api: string, path: string, body: object, name: string = randomUUID()) =>
  fetch(`${api}${path}`, {
    method: "POST",
    headers: { ...headers, "idempotency-key": name },
    body: JSON.stringify(body)
  })

const Stored = Schema.Struct({
  messages: Schema.Array(Schema.Struct({ role: Schema.String, status: Schema.String }))
})

const fetchThread = async (api: string, id: string): Promise<typeof Stored.Type> =>
  Schema.decodeUnknownSync(Stored)(await (await fetch(`${api}/threads/${id}`, { headers })).json())

/** The turns of one client on its own thread, as the client sees them. */
const talk = async (servers: ReadonlyArray<Running>, isOver: () => boolean, number: number) => {
  const problems: Array<string> = []
  let threadId: string | null = null
  let answered = 0
  for (let turn = number; !isOver(); turn++) {
    const name = randomUUID()
    const stream = turn % 2 === 0
    const body = { content: "count to 9", stream }
    for (let attempt = 0; ; attempt++) {
      const { api } = servers[(turn + attempt) % servers.length] ?? assert.fail()
      const path: string = threadId === null ? "/threads/messages" : `/threads/${threadId}/messages`
      const response = await post(api, path, body, name).catch(() => null)
      // Not accepted, or unknown: the same message with the same idempotency key goes to the other server.
      if (response === null || response.status === 503) {
        await response?.body?.cancel()
        if (attempt < 200) await new Promise((resolve) => setTimeout(resolve, 20))
        else problems.push("no server took it")
        if (attempt < 200) continue
        break
      }
      const text = await response.text().catch((error: unknown) => `cut: ${String(error)}`)
      threadId ??= /"thread_id": ?"([^"]+)"/.exec(text)?.[1] ?? null
      const isWhole = stream ? text.includes('"type":"run_ended"') : /"status": ?"COMPLETED"/.test(text)
      if (response.status !== 200 || !isWhole) problems.push(`${response.status} ${text.slice(-300)}`)
      answered++
      break
    }
  }
  return { answered, problems, threadId: threadId ?? assert.fail("nothing was answered") }
}

onPostgres((url) => {
  it("rolling SIGTERM under load: every accepted turn is answered", async () => {
    await using database = await scratchDatabase(url)
    const servers = [await open(database.url), await open(database.url)]
    try {
      let over = false
      const clients = Array.from({ length: 12 }, (_, number) => talk(servers, () => over, number))
      for (const place of [0, 1, 0, 1]) {
        const old = servers[place] ?? assert.fail()
        await new Promise((resolve) => setTimeout(resolve, 700))
        old.server.child.kill("SIGTERM")
        assert.strictEqual(await old.server.ended, 0)
        servers[place] = await open(database.url)
      }
      over = true
      const seen = await Promise.all(clients)
      assert.deepStrictEqual(
        seen.flatMap(({ problems }) => problems),
        []
      )
      const { api } = servers[0] ?? assert.fail()
      for (const { answered, threadId } of seen) {
        const { messages } = await fetchThread(api, threadId)
        assert.deepStrictEqual(
          messages.map(({ role, status }) => [role, status]),
          Array.from({ length: answered }, () => [
            ["user", "COMPLETED"],
            ["assistant", "COMPLETED"]
          ]).flat()
        )
      }
    } finally {
      for (const { server } of servers) await server[Symbol.asyncDispose]()
    }
  })

  it("kill -9 in the middle of a turn: the thread is usable within the lease and two seconds", async () => {
    await using database = await scratchDatabase(url)
    const lease = 3
    const settings = { RUN_LEASE_SECONDS: `${lease}`, SWEEP_SECONDS: "3600" }
    const doomed = await open(database.url, settings)
    const other = await open(database.url, settings)
    await using _doomed = doomed.server
    await using _other = other.server
    const stream = (await post(doomed.api, "/threads/messages", { content: "count to 1000", stream: true })).body
    const reader = (stream ?? assert.fail()).pipeThrough(new TextDecoderStream()).getReader()
    let text = ""
    while (!text.includes("content_streaming")) text += (await reader.read()).value ?? assert.fail("ended")
    const threadId = /"thread_id": ?"([^"]+)"/.exec(text)?.[1] ?? assert.fail(text)
    const killed = performance.now()
    doomed.server.child.kill("SIGKILL")
    await reader.cancel().catch(() => {})
    const next = await post(other.api, `/threads/${threadId}/messages`, { content: "count to 1" })
    assert.strictEqual(next.status, 200)
    await next.text()
    assert.isBelow(performance.now() - killed, (lease + 2) * 1000)
    assert.deepStrictEqual(
      (await fetchThread(other.api, threadId)).messages.map(({ role, status }) => [role, status]),
      [
        ["user", "COMPLETED"],
        ["assistant", "FAILED"],
        ["user", "COMPLETED"],
        ["assistant", "COMPLETED"]
      ]
    )
  })
})

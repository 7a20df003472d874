/** The standalone server as operators use it: refused starts, keys, a restart on the same folder, signals. */
import { assert, describe, it } from "@effect/vitest"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { WebSocket } from "ws"
import { spawnServer } from "./ServerProcess.ts"
import { startDemo } from "./TestServer.ts"

const scratchFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), "colloquy-server-"))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

const refusal = async (environment: Readonly<Record<string, string>>, command?: ReadonlyArray<string>) => {
  await using server = spawnServer({ COLLOQUY_DATA_DIR: "memory://", PORT: "0", ...environment }, command)
  const code = await server.ended
  return { code, text: server.output() }
}

const sentences = (text: string) => text.trim().split("\n").slice(1)

interface Started {
  readonly api: string
  readonly page: string
  readonly key: string | undefined
}

const addresses = (text: string): Started => ({
  api: /listens on (\S+),/.exec(text)?.[1] ?? "",
  page: /Studio:\s+(\S+)/.exec(text)?.[1] ?? "",
  // Of the server's start, or of the program that makes keys.
  key: /(?:#key=|shown this once\): )(\S+)/.exec(text)?.[1]
})

const ask = (api: string, key: string, content: string, stream = false) =>
  fetch(`${api}/threads/messages`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify({ content, stream })
  })

const answerStatus = async (url: string, key: string) => (await fetch(url, { headers: { "x-api-key": key } })).status

describe("a start that cannot work is refused with exit code 1", () => {
  it("every wrong variable in one list, and no value of them", async () => {
    const { code, text } = await refusal({ PORT: "x", BASE_PATH: "api", COLLOQUY_API_KEYS: "s3cret", HOST: "a b" })
    assert.strictEqual(code, 1)
    assert.deepStrictEqual(
      text.match(/^ {2}- (\w+)/gm)?.map((line) => line.slice(4)),
      ["HOST", "PORT", "BASE_PATH", "COLLOQUY_API_KEYS"]
    )
    assert.notInclude(text, "s3cret")
  })

  it("a default provider that is none", async () => {
    const { code, text } = await refusal({ DEFAULT_LLM_PROVIDER: "acme", DEFAULT_MODEL_NAME: "m" })
    assert.strictEqual(code, 1)
    assert.include(text, "DEFAULT_LLM_PROVIDER must be one of demo")
    const lonely = await refusal({ DEFAULT_MODEL_NAME: "m" })
    assert.strictEqual(lonely.code, 1)
    assert.include(lonely.text, "DEFAULT_MODEL_NAME must be demo-1")
  })

  it("a database that is not there, without its address", async () => {
    const { code, text } = await refusal({ DATABASE_URL: "postgres://ada:s3cret@127.0.0.1:1/chat" })
    assert.strictEqual(code, 1)
    assert.deepStrictEqual(sentences(text), [
      "The database of DATABASE_URL cannot be used: nothing listens at its address (ECONNREFUSED). Start PostgreSQL, or correct the host and the port in DATABASE_URL."
    ])
  })

  it("a folder that cannot be one", async () => {
    await using folder = await scratchFolder()
    const file = join(folder.path, "file")
    await writeFile(file, "")
    const { code, text } = await refusal({ COLLOQUY_DATA_DIR: join(file, "below") })
    assert.strictEqual(code, 1)
    assert.lengthOf(sentences(text), 1)
    assert.include(text, "Set COLLOQUY_DATA_DIR to a folder that may be written")
  })

  it("a folder of files that cannot be one", async () => {
    await using folder = await scratchFolder()
    const file = join(folder.path, "file")
    await writeFile(file, "")
    const blobs = join(file, "below")
    const { code, text } = await refusal({ COLLOQUY_DATA_DIR: "memory://", COLLOQUY_BLOBS: blobs })
    assert.strictEqual(code, 1)
    assert.deepStrictEqual(sentences(text), [
      `The folder ${blobs} cannot be used (ENOTDIR). Set COLLOQUY_BLOBS to a folder that may be written, or to database.`
    ])
  })

  it("a port that is taken", async () => {
    await using taken = createServer()
    await new Promise<void>((resolve) => void taken.listen(0, "127.0.0.1", resolve))
    const address = taken.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const { code, text } = await refusal({ PORT: `${port}` })
    assert.strictEqual(code, 1)
    assert.deepStrictEqual(sentences(text), [
      `The server cannot listen on 127.0.0.1:${port} (EADDRINUSE). Set HOST or PORT to a free address.`
    ])
  })
})

describe("clients that misbehave", () => {
  it.each(["", "X-Forwarded-For"])(
    "wrong keys of one address (CLIENT_ADDRESS=%s) are 429 after a few",
    async (place) => {
      const environment = {
        COLLOQUY_DATA_DIR: "memory://",
        PORT: "0",
        CLIENT_ADDRESS: place,
        FAILED_KEYS_PER_MINUTE: "2"
      }
      await using server = spawnServer({ ...environment, COLLOQUY_API_KEYS: "the-right-key-16=ada" })
      const { api } = addresses(await server.printed(/listens on/))
      const guess = (key: string, address: string) =>
        fetch(`${api}/threads`, { headers: { "x-api-key": key, "x-forwarded-for": `forged, ${address}` } })
      const statuses: Array<number> = []
      for (const key of ["a", "b", "c", "d"]) statuses.push((await guess(key, "10.0.0.1")).status)
      assert.deepStrictEqual(statuses, [401, 401, 429, 429])
      assert.strictEqual((await guess("the-right-key-16", "10.0.0.1")).status, 200)
      assert.strictEqual((await guess("e", "10.0.0.2")).status, place === "" ? 429 : 401)
    }
  )

  it("wrong keys are counted once for the API and the socket together", async () => {
    const server = await startDemo({ FAILED_KEYS_PER_MINUTE: "3" })
    await using _stopped = { [Symbol.asyncDispose]: server.stop }
    const api = async () => (await fetch(`${server.url}/api/threads`, { headers: { "x-api-key": "wrong" } })).status
    const socket = async () => {
      const url = `${server.url.replace("http", "ws")}/api/threads/realtime`
      const client = new WebSocket(url, { headers: { "x-api-key": "wrong" } })
      const [data]: ReadonlyArray<unknown> = await once(client, "message")
      client.terminate()
      return JSON.parse(String(data)).message
    }
    assert.strictEqual(await api(), 401)
    assert.match(await socket(), /^Invalid/u)
    assert.strictEqual(await api(), 401)
    assert.match(await socket(), /^Too many/u)
    assert.strictEqual(await api(), 429)
  })

  it("a body that stops coming is 408 after the time that the operator set", async () => {
    const environment = { COLLOQUY_DATA_DIR: "memory://", PORT: "0", BODY_TIMEOUT_SECONDS: "1" }
    await using server = spawnServer({ ...environment, COLLOQUY_API_KEYS: "the-right-key-16=ada" })
    const { api } = addresses(await server.printed(/listens on/))
    const { hostname, pathname, port } = new URL(api)
    const socket = connect(Number(port), hostname)
    socket.write(
      `POST ${pathname}/threads/messages HTTP/1.1\r\nhost: x\r\nx-api-key: the-right-key-16\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{`
    )
    let answer = ""
    for await (const piece of socket) answer += String(piece)
    assert.match(answer, /^HTTP\/1.1 408 /u)
  })
})

describe("the terminal", () => {
  const environment = { COLLOQUY_DATA_DIR: "memory://", PORT: "0", VLLM_BASE_URL: "http://127.0.0.1:9/v1" }
  const talk = async (level: string) => {
    await using server = spawnServer({ ...environment, LOG_LEVEL: level })
    const { api, key = "" } = addresses(await server.printed(/Documentation/))
    await (await ask(api, key, "count to 3")).text()
    const failing = { content: "Hello?", llm_provider: "vllm", model_name: "absent" }
    await fetch(`${api}/threads/messages`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify(failing)
    }).then((response) => response.text())
    server.child.kill("SIGTERM")
    await server.ended
    return { key, text: server.output() }
  }

  it("has the key once, and one line for each turn with its reason if it failed", async () => {
    const { key, text } = await talk("")
    assert.lengthOf(text.split(key), 2)
    assert.match(text, /^completed demo\/demo-1 · [\d.]+ m?s · \d+ tokens$/m)
    assert.match(text, /^failed vllm\/absent · [\d.]+ m?s · \d+ tokens.* · .*could not be reached/m)
    assert.lengthOf([...text.matchAll(/^(?:completed|failed) /gm)], 2)
  })

  it("is silent about turns with LOG_LEVEL=none", async () => {
    const { text } = await talk("none")
    assert.notMatch(text, /^(?:completed|failed) /m)
    assert.notInclude(text, "WARN")
  })
})

describe("the standalone server", () => {
  it("makes one key, keeps threads over a restart, and settles the turn that a signal meets", async () => {
    await using folder = await scratchFolder()
    const environment = { COLLOQUY_DATA_DIR: join(folder.path, "new", "data"), PORT: "0", DRAIN_SECONDS: "3" }
    let key = ""
    {
      await using server = spawnServer(environment)
      const started = addresses(await server.printed(/Documentation/))
      key = started.key ?? assert.fail("no key was printed")
      assert.strictEqual(started.page, `${new URL(started.api).origin}/#key=${key}`)
      assert.strictEqual(await answerStatus(`${new URL(started.api).origin}/healthz`, ""), 200)
      assert.strictEqual(await answerStatus(`${new URL(started.api).origin}/readyz`, ""), 200)
      for (const path of ["/healthz", "/readyz"]) {
        const { headers } = await fetch(new URL(path, started.api))
        assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
      }
      assert.strictEqual(await answerStatus(`${started.api}/threads`, "another"), 401)

      const held = await refusal(environment)
      assert.strictEqual(held.code, 1)
      assert.include(held.text, "is in use by another process")

      const stream = (await ask(started.api, key, "count to 1000", true)).body ?? assert.fail()
      const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
      let text = ""
      while (!text.includes("content_streaming")) text += (await reader.read()).value ?? assert.fail("ended")
      server.child.kill("SIGTERM")
      await server.printed(/Answers under way have time to end/)
      assert.strictEqual((await ask(started.api, key, "one more")).status, 503)
      for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value
      assert.lengthOf(text.match(/"type":"run_failed"/g) ?? [], 1)
      assert.strictEqual(await server.ended, 0)
    }
    const pruned = await refusal({ ...environment, RETENTION_LOG_DAYS: "30" }, ["command/colloquy.ts", "retention"])
    assert.deepStrictEqual(pruned, { code: 0, text: "Nothing was old enough to be deleted.\n" })
    for (const wrong of [["--scope", "all"], ["--days", "0"], ["--days", "x"], ["--forever"]]) {
      const { code, text } = await refusal(environment, ["command/colloquy.ts", "key", "make", "bob", ...wrong])
      assert.deepStrictEqual([code, text.includes("\nUsage: colloquy key ")], [2, true], wrong.join(" "))
    }
    const reading = await refusal(environment, [
      "command/colloquy.ts",
      "key",
      "make",
      "bob",
      "--scope",
      "read",
      "--days",
      "30"
    ])
    const reader = addresses(reading.text).key ?? assert.fail(reading.text)
    const listed = (await refusal(environment, ["command/colloquy.ts", "key", "list", "bob"])).text
    assert.match(listed, /^\S+ {2}\S+ {2}made by hand {2}read {2}until \S+\n$/u)
    const made = await refusal(environment, ["command/colloquy.ts", "key", "make", "bob"])
    const bobs = addresses(made.text).key ?? assert.fail(made.text)
    {
      await using server = spawnServer({ ...environment, BASE_PATH: "" })
      const started = addresses(await server.printed(/Documentation/))
      assert.isUndefined(started.key)
      assert.include(server.output(), "npm run key -- make default")
      const threads = async (of: string): Promise<unknown> =>
        (await fetch(`${started.api}/threads`, { headers: { "x-api-key": of } })).json()
      assert.lengthOf(Object(await threads(key)), 1)
      assert.lengthOf(Object(await threads(bobs)), 0)
      assert.lengthOf(Object(await threads(reader)), 0)
      assert.strictEqual((await ask(started.api, reader, "Hello")).status, 403)
      assert.include(await (await fetch(`${started.api}/`)).text(), 'name="api-base" content=""')
    }
    // Four processes, one after the other.
  }, 180_000)

  it("takes the operator's keys as long as he names them, and ends at once on a second signal", async () => {
    await using server = spawnServer({
      COLLOQUY_DATA_DIR: "memory://",
      PORT: "0",
      COLLOQUY_API_KEYS: "key-of-a-01234567=ada,key-of-b-01234567=bob"
    })
    const started = addresses(await server.printed(/Documentation/))
    assert.isUndefined(started.key)
    assert.notInclude(server.output(), "key-of-a-01234567")
    assert.strictEqual((await ask(started.api, "key-of-a-01234567", "Hello")).status, 200)
    const { length } = Object(
      await (await fetch(`${started.api}/threads`, { headers: { "x-api-key": "key-of-b-01234567" } })).json()
    )
    assert.strictEqual(length, 0)
    assert.strictEqual(await answerStatus(`${started.api}/threads`, "key-c"), 401)

    const stream = await ask(started.api, "key-of-a-01234567", "count to 1000", true)
    server.child.kill("SIGTERM")
    await server.printed(/Answers under way have time to end/)
    const again = setInterval(() => server.child.kill("SIGTERM"), 100)
    assert.strictEqual(await server.ended, 1)
    clearInterval(again)
    await stream.body?.cancel().catch(() => {})
  })
})

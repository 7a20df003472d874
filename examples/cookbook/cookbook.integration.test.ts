/** Each page of the cookbook runs as it is shown: as a process of its own, or imported where it is a server. */
import { assert, describe, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { createServer, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { pdf } from "../../packages/adapters/test/files/MadeFiles.ts"

const start = (file: string, parameters: ReadonlyArray<string> = [], env: NodeJS.ProcessEnv = {}): ChildProcess =>
  spawn(
    process.execPath,
    ["--conditions=colloquy-source", "--disable-warning=ExperimentalWarning", file, ...parameters],
    {
      cwd: import.meta.dirname,
      env: { ...process.env, ...env },
      stdio: ["pipe", "pipe", "inherit"]
    }
  )

/** What the program writes until it ends by itself: no page closes its kernel. */
const printed = async (program: ChildProcess, input = ""): Promise<ReadonlyArray<string>> => {
  program.stdin?.end(input)
  const written = program.stdout === null ? "" : await text(program.stdout)
  return written.trimEnd().split("\n")
}

const listening = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
}

const stopped = (server: Server) => new Promise((resolve) => server.close(resolve).closeAllConnections())

const page = async (sentence: string) => pdf([[{ text: sentence, x: 72, y: 700 }]])

describe("the cookbook", () => {
  it("is what the guide shows", async () => {
    const guide = await readFile(new URL("../../docs/cookbook.md", import.meta.url), "utf8")
    const names = [
      "terminal-chat",
      "express-sessions",
      "documents",
      "memory",
      "gateway",
      "virtual-time.test",
      "use-chat",
      "guarded-loop",
      "object-from-text",
      "approval"
    ]
    for (const name of names) {
      const file = await readFile(new URL(`${name}.ts`, import.meta.url), "utf8")
      assert.include(guide, `\`\`\`ts\n${file}\`\`\``, name)
    }
  })

  it("chats in a terminal", async () => {
    assert.deepStrictEqual(await printed(start("terminal-chat.ts"), "Hi, I am Ada.\nWho am I?\n"), [
      "Hello, Ada.",
      "You said it before: Ada."
    ])
  }, 60_000)

  it("answers the user of a session of Express", async () => {
    const { app, colloquy } = await import("./express-sessions.ts")
    const server = createServer(app)
    const url = await listening(server)
    const ask = (headers: Record<string, string>) =>
      fetch(`${url}/ai/threads/messages`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: '{"content":"Hi"}'
      })
    assert.strictEqual((await ask({})).status, 401)
    const login = await fetch(`${url}/login/ada`, { method: "POST" })
    const cookie = login.headers.getSetCookie().join("; ")
    assert.include(await (await ask({ cookie })).text(), "Hello, Ada.")
    assert.lengthOf(await colloquy.as("ada").threads.list(), 1)
    await stopped(server)
    await colloquy.close()
  })

  it("answers from three PDF files, with their excerpts", async () => {
    const folder = await mkdtemp(join(tmpdir(), "colloquy-"))
    const sentences = {
      holidays: "Employees have thirty days of holiday a year.",
      tea: "Tea is served at noon in the garden.",
      cars: "The cars of the company are blue."
    }
    const files = Object.entries(sentences).map(([name, sentence]) => ({ file: join(folder, `${name}.pdf`), sentence }))
    for (const { file, sentence } of files) await writeFile(file, await page(sentence))
    const [answer, ...excerpts] = await printed(
      start(
        "documents.ts",
        files.map(({ file }) => file)
      )
    )
    assert.strictEqual(answer, "Thirty days [d1].")
    assert.include(excerpts[0], "[d1] holidays.pdf, page 1: Employees have thirty days")
    await rm(folder, { recursive: true })
  }, 60_000)

  it("remembers across threads", async () => {
    assert.deepStrictEqual(await printed(start("memory.ts")), ["In Oslo. Ada lives in Oslo."])
  }, 60_000)

  it("asks a gateway, and tells when it refuses or is not there", async () => {
    const asked: Array<string> = []
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        asked.push(body)
        if (request.url === "/refused") response.statusCode = 401
        response.end("Hello from the house.")
      })
    })
    const GATEWAY_URL = await listening(server)
    const refusal = await printed(start("gateway.ts", [], { GATEWAY_URL: `${GATEWAY_URL}/refused` }))
    assert.include(refusal.join("\n"), "The provider did not accept the key.")
    asked.length = 0
    assert.deepStrictEqual(await printed(start("gateway.ts", [], { GATEWAY_URL })), ["Hello from the house."])
    assert.include(asked[0], '"text":"Hello"')
    await stopped(server)
    const [sentence] = await printed(start("gateway.ts", [], { GATEWAY_URL: "http://127.0.0.1:1" }))
    assert.include(sentence, "The provider could not be reached. (house/house-1, connection)")
  }, 60_000)

  it("is the route of a chat", async () => {
    const { POST } = await import("./use-chat.ts")
    const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "Hi, I am Ada." }] }]
    const answer = await POST(
      new Request("http://localhost/api/chat", {
        method: "POST",
        headers: { "content-type": "application/json", "x-user": "ada" },
        body: JSON.stringify({ id: "chat-1", messages, trigger: "submit-message" })
      })
    )
    const stream = await answer.text()
    assert.include(stream, '"delta":"Hello, "')
    assert.include(stream, '"type":"finish"')
  })

  it("makes an object of a text", async () => {
    assert.deepStrictEqual(await printed(start("object-from-text.ts")), ["2 tea"])
  }, 60_000)

  it("goes on with an approved call in another process", async () => {
    const DATA_DIR = await mkdtemp(join(tmpdir(), "colloquy-"))
    const run = (...parameters: ReadonlyArray<string>) => printed(start("approval.ts", parameters, { DATA_DIR }))
    assert.deepStrictEqual(await run(), ["Waiting: pay { cents: 500 }"])
    assert.deepStrictEqual(await run("yes"), ["500 cents are paid.", "It is paid."])
    assert.deepStrictEqual(await run("yes"), [""])
    await rm(DATA_DIR, { recursive: true })
  }, 60_000)

  it("runs an agent with a guard", async () => {
    assert.deepStrictEqual(await printed(start("guarded-loop.ts")), [
      "read_file The key is in .env.",
      "read_file KEY=sk-1234567",
      "It is [key]."
    ])
  }, 60_000)
})

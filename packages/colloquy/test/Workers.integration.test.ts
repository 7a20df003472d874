/**
 * Cloudflare Workers: what a conversation over a vendor needs is bundled without a module of Node, and answers in the platform's own runtime,
 * `workerd`, over a vendor on this machine.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer, type Server } from "node:http"
import { isBuiltin } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Readable } from "node:stream"
import { rolldown } from "rolldown"
import workerd from "workerd"

const bundled = async (source: string) => {
  const builtin = new Set<string>()
  const entry = join(import.meta.dirname, "virtual.ts")
  const build = await rolldown({
    input: entry,
    platform: "browser",
    resolve: { conditionNames: ["colloquy-source", "import", "default"] },
    logLevel: "silent",
    plugins: [
      {
        name: "program",
        resolveId: (id) => {
          if (id === entry) return id
          if (!isBuiltin(id)) return null
          builtin.add(id)
          return { id, external: true }
        },
        load: (id) => (id === entry ? { code: source, moduleType: "ts" } : null)
      }
    ]
  })
  const { output } = await build.generate({ format: "esm", codeSplitting: false })
  await build.close()
  const code = output.map((file) => (file.type === "chunk" ? file.code : "")).join("")
  return { builtin: [...builtin].toSorted(), code }
}

const program = (baseUrl: string) => `
  import { Colloquy } from "colloquy"
  import { inMemory } from "colloquy/in-memory"
  import { openai } from "colloquy/openai"

  export class Chat {
    colloquy = Colloquy.lazy(() => ({
      store: inMemory(), providers: [openai({ apiKey: "sk-1", baseUrl: "${baseUrl}" })], model: "gpt-5"
    }))
    fetch = this.colloquy.handler({ basePath: "/ai", authenticate: () => "ada" })
  }

  export default { fetch: (request, env) => env.CHAT.get(env.CHAT.idFromName("main")).fetch(request) }
`

const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main), (name = "internet", network = (allow = ["private", "public"]))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
const main :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
  compatibilityDate = "2026-10-01",
  bindings = [(name = "CHAT", durableObjectNamespace = "Chat")],
  durableObjectNamespaces = [(className = "Chat", uniqueKey = "chat")],
  durableObjectStorage = (inMemory = void)
);
`

const listening = async (server: Server) => {
  await once(server.listen(0, "127.0.0.1"), "listening")
  const address = server.address()
  return typeof address === "object" && address !== null ? `http://127.0.0.1:${address.port}` : assert.fail()
}

/** A vendor that answers every question with two deltas. */
const vendor = createServer((request, response) => {
  request.resume().on("end", () => {
    if (request.url === "/v1/models") return response.end('{"data":[]}')
    const place = { output_index: 0, item_id: "m1", content_index: 0 }
    const events = [
      { type: "response.created", response: { id: "r1", model: "gpt-5" } },
      { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "m1", role: "assistant" } },
      { type: "response.output_text.delta", ...place, delta: "Hello, " },
      { type: "response.output_text.delta", ...place, delta: "Ada." },
      { type: "response.completed", response: { id: "r1", model: "gpt-5", status: "completed", output: [] } }
    ]
    response.setHeader("content-type", "text/event-stream")
    return response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""))
  })
})

const answered = Schema.decodeUnknownSync(Schema.Struct({ content: Schema.String, thread_id: Schema.String }))

/** Runs the worker until the use of its address is over. */
const served = async (code: string, use: (url: string) => Promise<void>) => {
  const folder = await mkdtemp(join(tmpdir(), "colloquy-"))
  await writeFile(join(folder, "worker.mjs"), code)
  await writeFile(join(folder, "config.capnp"), config)
  const runtime = spawn(workerd, ["serve", "--control-fd=3", join(folder, "config.capnp")], {
    stdio: ["ignore", "ignore", "inherit", "pipe"]
  })
  try {
    const [, , , control] = runtime.stdio
    const [line] = await once(createInterface({ input: control instanceof Readable ? control : assert.fail() }), "line")
    await use(`http://127.0.0.1:${JSON.parse(line).port}`)
  } finally {
    runtime.kill()
    await once(runtime, "exit")
    await rm(folder, { recursive: true })
  }
}

describe("Cloudflare Workers", () => {
  it("a Durable Object opens the kernel at the first request, and streams what the vendor says", async () => {
    const { builtin, code } = await bundled(program(`${await listening(vendor)}/v1`))
    assert.deepStrictEqual(builtin, [])
    await served(code, async (url) => {
      const post = async (body: object) => {
        const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
        return fetch(`${url}/ai/threads/messages`, init)
      }
      const first = answered(await (await post({ content: "Hi" })).json())
      assert.strictEqual(first.content, "Hello, Ada.")
      // Another request, which the kernel that the first one has opened serves.
      const streamed = await (await post({ content: "And again", thread_id: first.thread_id, stream: true })).text()
      assert.match(streamed, /"content":"Hello, "[^]*"content":"Ada\."[^]*"type":"run_ended","status":"completed"/u)
      const turns = await Promise.all(["One", "Two", "Three"].map((content) => post({ content })))
      assert.deepStrictEqual(
        turns.map(({ status }) => status),
        [200, 200, 200]
      )
    })
    vendor.close()
  }, 60_000)

  it("PostgreSQL needs modules that `nodejs_compat` gives", async () => {
    const { builtin } = await bundled('import { postgres } from "colloquy/postgres"\nconsole.log(postgres)')
    assert.deepStrictEqual(builtin, ["node:buffer", "node:crypto", "node:net", "node:tls"])
  }, 60_000)
})

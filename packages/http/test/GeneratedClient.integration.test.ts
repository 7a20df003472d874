/** A client that a well-known generator makes of `openapi.json`: it type-checks, and talks to the server. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { callTool, say } from "@colloquy/testing"
import { generateApi } from "swagger-typescript-api"
import { keys, open } from "./Service.ts"
import { listen } from "./Sockets.ts"

const root = join(import.meta.dirname, "../../..")

/** What a foreign program would write with the generated client. It is type-checked with it, and then run. */
const program = `
import { Api, type MessageResponse, type StreamEvent } from "./Api.ts"

export const converse = async (baseUrl: string, key: string): Promise<ReadonlyArray<unknown>> => {
  const api = new Api({ baseUrl, baseApiParams: { headers: { "x-api-key": key } } })
  const { data: assistant } = await api.assistants.assistantsCreate({ name: "Guide", tools: [{ type: "function", function: { name: "weather" } }] })
  const { data: thread } = await api.assistants.assistantsCreateThread(assistant.assistant_id, { metadata: { a: 1 } })
  const asked = await api.threads.messagesSend(thread.thread_id, { content: "Weather?", thinking: { effort: "low" } }, { format: "json" })
  const reply = asked.data as MessageResponse
  const outputs = (reply.tool_calls ?? []).map(({ id }) => ({ tool_call_id: id, output: "sunny" }))
  const answered = await api.threads.runsSubmitToolOutputs(thread.thread_id, reply.run_id, { tool_outputs: outputs }, {}, { format: "json" })
  const stored = await api.threads.threadsGet(thread.thread_id)
  const unknown = await api.threads.threadsGet(assistant.assistant_id).catch((error: { status: number }) => error.status)
  const end: StreamEvent["type"] = "run_ended"
  return [reply.status, (answered.data as MessageResponse).content, stored.data.messages.length, unknown, end]
}
`

describe("a generated client", () => {
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "colloquy-client-"))
    await generateApi({
      input: join(import.meta.dirname, "../openapi.json"),
      output: folder,
      fileName: "Api.ts",
      httpClientType: "fetch",
      silent: true
    })
    writeFileSync(join(folder, "program.ts"), program)
    writeFileSync(join(folder, "package.json"), '{"type":"module"}')
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it("type-checks", () => {
    const options = [
      "--noEmit",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "es2023",
      "--lib",
      "es2023,dom,dom.iterable",
      "--allowImportingTsExtensions",
      "--skipLibCheck"
    ]
    const compiler = join(root, "node_modules/typescript/bin/tsc")
    const { stdout, status } = spawnSync(process.execPath, [compiler, ...options, join(folder, "program.ts")], {
      encoding: "utf8",
      cwd: folder
    })
    assert.strictEqual(status, 0, stdout)
  })

  it("talks to the server", async () => {
    await using service = await open([callTool("weather", { city: "Paris" }), say("It is sunny.")])
    await using server = await listen(service.node)
    const { converse } = await import(join(folder, "program.ts"))
    assert.deepStrictEqual(await converse(server.url, keys.ada), [
      "REQUIRES_ACTION",
      "It is sunny.",
      3,
      404,
      "run_ended"
    ])
  })
})

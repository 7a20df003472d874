/** Typed answers of the standalone server: the demo without any key, and a real provider when the environment names one. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import type { Environment } from "../src/Settings.ts"
import { caller, startDemo } from "./TestServer.ts"

const open = async (environment: Environment = {}) => {
  const server = await startDemo(environment, true)
  const ask = caller(server)
  const call = (path: string, body?: object) => ask(body === undefined ? "GET" : "POST", path, body)
  return { ...server, call, [Symbol.asyncDispose]: () => server.stop() }
}

const questions = {
  topic: {
    type: "choice",
    instructions: "Topic?",
    criteria: { refund: "wants money back", delivery: "parcel is late" }
  }
}
const message = { llm_provider: "typedprovider", model_name: "typed-latest", system_one: { questions } }

describe("typed answers of the standalone server", () => {
  it("come from the demo without any key, which is in the catalogue and says that it only estimates", async () => {
    await using server = await open()
    const { models } = await server.call("/models?provider=typedprovider&model_type=system_one")
    assert.includeMembers(
      models.map(({ name }: { name: string }) => name),
      ["typed-latest", "typed-preview"]
    )
    const reply = await server.call("/threads/messages", { content: "I want my money back", ...message })
    assert.deepInclude(reply, { status: "COMPLETED", model_provider: "typedprovider" })
    assert.strictEqual(reply.system_one.answers.topic.choice, "refund")
    assert.isTrue(reply.system_one.estimated)
    const path = `/threads/${reply.thread_id}/messages/${reply.message_id}/outcomes`
    await server.call(path, { question: "topic", outcome: "refund" })
    assert.strictEqual((await server.call(`/assistants/${reply.assistant_id}/answers/report`)).cases, 1)
  })

  describe("with a provider in the environment", () => {
    const seen: Array<{ readonly authorization: string | undefined; readonly url: string; readonly body: string }> = []
    let vendor: Server
    let baseUrl = ""
    beforeAll(async () => {
      vendor = createServer((request, response) => {
        let body = ""
        request.on("data", (piece: Buffer) => (body += piece.toString()))
        request.on("end", () => {
          seen.push({ authorization: request.headers.authorization, url: request.url ?? "", body })
          response.setHeader("content-type", "application/json")
          response.end(
            JSON.stringify({
              model: "typed-1.2",
              answers: { topic: { type: "choice", choice: "refund", probabilities: { refund: 0.3, delivery: 0.7 } } },
              usage: { input_tokens: 21, output_tokens: 1 }
            })
          )
        })
      })
      await new Promise<void>((resolve) => void vendor.listen(0, "127.0.0.1", resolve))
      baseUrl = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`
    })
    afterAll(() => {
      vendor.closeAllConnections()
      vendor.close()
    })

    it("come from it, and the demo is gone", async () => {
      await using server = await open({ TYPEDPROVIDER_API_KEY: "sk-typed", TYPEDPROVIDER_BASE_URL: baseUrl })
      assert.strictEqual(server.defaultModel.split("/")[0], "demo")
      const reply = await server.call("/threads/messages", { ...message, content: "I want my money back" })
      assert.deepInclude(reply, { status: "COMPLETED", model_name: "typed-1.2", input_tokens: 21 })
      assert.strictEqual(reply.system_one.answers.topic.choice, "delivery")
      const asked = seen.find(({ url }) => url === "/v1/systemone")
      assert.strictEqual(asked?.authorization, "Bearer sk-typed")
      assert.deepInclude(JSON.parse(asked?.body ?? "{}"), {
        model: "typed-latest",
        questions,
        state: { messages: [{ role: "user", content: "I want my money back" }] }
      })
    })
  })
})

/** OpenAI's own client against the standalone server, which is killed while a call of its tool waits for a person. */
import { assert, describe, it } from "@effect/vitest"
import OpenAI from "openai"
import { onEmbedded } from "../../../../test/databases.ts"
import { deskKeys, openDeskService } from "../DeskService.ts"

describe("a response whose server is killed (SIGKILL) while a call waits for a person", () => {
  onEmbedded("PGlite", () => {
    it("is found again, goes on with the decision, and is another's for nobody", { timeout: 120_000 }, async () => {
      await using service = await openDeskService()
      const makeClient = (apiKey: string) => new OpenAI({ baseURL: `${service.api}/v1`, apiKey, maxRetries: 0 })
      const client = makeClient(deskKeys.ada)
      const model = "demo/demo-1"
      const asked = await client.responses.create({ model, input: "Please use desk_echo" })
      assert.deepStrictEqual([asked.status, asked.incomplete_details?.reason], ["incomplete", "approval_required"])
      await service.kill()

      const found = await client.responses.retrieve(asked.id)
      assert.deepStrictEqual([found.status, found.output_text], [asked.status, asked.output_text])
      const stranger = makeClient(deskKeys.bob)
      const missing = await stranger.responses.retrieve(asked.id).catch((error: unknown) => error)
      assert.instanceOf(missing, OpenAI.NotFoundError)

      const [{ thread_id }] = (await service.call("GET", "/threads")).body
      const { run_id, tool_calls } = (await service.call("GET", `/threads/${thread_id}`)).body.messages.at(-1)
      const approvals = [{ tool_call_id: tool_calls[0].id, decision: "approve" }]
      await service.call("POST", `/threads/${thread_id}/runs/${run_id}/approvals`, { approvals })
      const done = await client.responses.retrieve(asked.id)
      assert.strictEqual(done.status, "completed")
      assert.include(JSON.stringify(done.output), "You said: ")
      const next = await client.responses.create({ model, input: "count to 3", previous_response_id: asked.id })
      assert.strictEqual(next.output_text, "1 2 3")
    })
  })
})

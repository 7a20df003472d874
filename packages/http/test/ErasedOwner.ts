/** While everything of an owner is being erased, every write of that owner is a 409; afterwards the owner begins anew. On every store. */
import type { InMemory } from "@colloquy/adapters/in-memory"
import { Erasures, Turns } from "@colloquy/core"
import { ErasureId, newId, OwnerStore } from "@colloquy/core/adapters"
import { callTool, say } from "@colloquy/testing"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { openai } from "../src/openai/index.ts"
import { openBoth } from "./DeletedTexts.ts"
import { fileForm } from "./DocumentService.ts"
import { keys, tool } from "./Service.ts"
import { until } from "../../../test/until.ts"

const begin = Effect.gen(function* () {
  return yield* (yield* OwnerStore).beginErasure(yield* newId(ErasureId), new Date(0))
})

export const erasedOwner = (stores: Layer.Layer<InMemory.Stores, unknown>): void => {
  it("signed addresses end when they are revoked, by document and by owner, and those that are written afterwards are good", async () => {
    await using service = await openBoth(stores, [])
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const upload = async () => {
      const file = fileForm({ file: new File(["text"], "a.txt") })
      return (await service.call("POST", `/assistants/${assistant_id}/documents`, file)).body.document_id
    }
    const [one, other] = [await upload(), await upload()]
    const timedAddress = async (id: string): Promise<string> =>
      (await service.call("POST", `/documents/${id}/url`, { expires_in: 3600 })).body.url
    const plainAddress = async (id: string): Promise<string> =>
      (await service.call("POST", `/documents/${id}/url`)).body.url
    const read = async (url: string) => (await service.call("GET", url, undefined, { key: null })).status
    const [ofOne, ofOther, plain] = [await timedAddress(one), await timedAddress(other), await plainAddress(one)]
    assert.deepStrictEqual([await read(ofOne), await read(ofOther), await read(plain)], [200, 200, 200])

    const revoked = await service.call("DELETE", `/documents/${one}/url`)
    assert.deepStrictEqual([revoked.status, Object.keys(revoked.body)], [200, ["revoked_at"]])
    assert.deepStrictEqual([await read(ofOne), await read(plain), await read(ofOther)], [401, 401, 200])
    const [again, plainAgain] = [await timedAddress(one), await plainAddress(one)]
    assert.deepStrictEqual([await read(again), await read(plainAgain)], [200, 200])

    const foreign = await service.call("DELETE", `/documents/${one}/url`, undefined, { key: keys.bob })
    assert.strictEqual(foreign.status, 404)
    assert.strictEqual((await service.call("DELETE", "/owners/me/urls", undefined, { key: keys.bob })).status, 200)
    assert.strictEqual(await read(ofOther), 200)
    assert.strictEqual((await service.call("DELETE", "/owners/me/urls")).status, 200)
    assert.strictEqual(await read(ofOther), 401)

    const last = await timedAddress(other)
    assert.strictEqual(await read(last), 200)
    assert.strictEqual((await service.call("DELETE", `/documents/${other}`)).status, 200)
    assert.strictEqual(await read(last), 404)
  })

  it("nothing is taken from an owner who is being erased", async () => {
    const steps = [callTool("weather", {}), say("New.")]
    await using service = await openBoth(stores, steps, "recall", { wings: [openai] })
    const { assistant_id } = (await service.call("POST", "/assistants", { name: "A" })).body
    const assistant = `/assistants/${assistant_id}`
    const { memory_id } = (await service.call("POST", `${assistant}/memories`, { content: "Tea." })).body
    const asked = { content: "?", tools: [tool("weather")] }
    const { run_id, thread_id, tool_calls } = (await service.call("POST", "/threads/messages", asked)).body
    const thread = `/threads/${thread_id}`
    const tool_outputs = [{ tool_call_id: tool_calls[0].id, output: "sun" }]
    const file = () => fileForm({ file: new File(["text"], "a.txt") })
    const chat = { model: "scripted/scripted-model", messages: [{ role: "user", content: "?" }] }
    const writes: ReadonlyArray<readonly [method: string, path: string, body?: unknown]> = [
      ["POST", "/assistants", { name: "B" }],
      ["PUT", assistant, { name: "B" }],
      ["POST", `${assistant}/clone`, {}],
      ["POST", `${assistant}/threads`, {}],
      ["PUT", thread, { metadata: { more: true } }],
      ["POST", `${thread}/messages`, { content: "?" }],
      ["POST", `${thread}/messages`, { content: "?", stream: true }],
      ["POST", "/threads/messages", { content: "?" }],
      ["POST", `${thread}/runs/${run_id}/submit-tool-outputs`, { tool_outputs }],
      ["POST", `${assistant}/documents`, file()],
      ["POST", `${thread}/documents`, file()],
      ["POST", `${assistant}/memories`, { content: "Coffee." }],
      ["PUT", `${assistant}/memories/${memory_id}`, { content: "Coffee." }],
      ["POST", "/v1/chat/completions", chat],
      ["POST", "/v1/responses", { model: chat.model, input: "?" }]
    ]
    const { id } = await service.run(begin)
    for (const [method, path, body] of writes) {
      const answer = await service.call(method, path, body, { headers: { authorization: `Bearer ${keys.ada}` } })
      assert.strictEqual(answer.status, 409, `${method} ${path}: ${answer.text}`)
      assert.include(answer.text, "is being erased")
    }
    const other = await service.call("POST", "/assistants", { name: "Mine" }, { key: keys.bob })
    assert.strictEqual(other.status, 200)
    assert.strictEqual((await service.call("GET", thread)).status, 200)

    await service.run(OwnerStore.use((store) => store.endErasure(id, "FAILED", new Date(0), "none")))
    const erasure = (await service.call("DELETE", "/owners/me")).body.erasure_id
    // The key of the request goes with everything else.
    const report = () => service.run(Erasures.use((erasures) => erasures.get(ErasureId.make(erasure))))
    await until(async () => (await report()).erasure.status !== "IN_PROGRESS")
    const { erasure: ended, left } = await report()
    assert.deepStrictEqual([ended.status, left], ["COMPLETED", {}])
    assert.strictEqual((await service.run(Turns.use((turns) => turns.send({ content: "?" })))).content, "New.")
  })
}

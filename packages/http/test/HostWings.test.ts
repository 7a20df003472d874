/** Wings that a host registers: their faults harm no conversation, and their names clash with none of the API. */
import { TurnParts } from "@colloquy/core"
import { say, type ScriptStep } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { messageFields, served, type Wing, wingApi } from "../src/index.ts"
import { open } from "./Service.ts"

const moodPart = TurnParts.part<string>({
  name: "mood",
  plan: Schema.String,
  decide: () => Effect.succeed({ plan: "kind", supplement: { mood: "kind" } }),
  recall: (_plan, turn) => Effect.sync(() => (turn.tell({ type: "mood_set", data: { mood: "kind" } }), []))
})

const openWith = async (wing: Wing, ...script: ReadonlyArray<ScriptStep>) => {
  const logged: Array<string> = []
  const log = Logger.make(({ cause, message }) => void logged.push(`${String(message)} ${Cause.pretty(cause)}`))
  const service = await open(script, { http: { wings: [wing] }, extra: Logger.layer([log]) })
  const scope = await service.run(Scope.make())
  await service.run(Layer.buildWithScope(moodPart, scope))
  return Object.assign(service, { logged })
}

const fail = (): never => {
  throw new Error("a fault of the host")
}

describe("a wing of a host", () => {
  it("whose code throws is left out: replies, streams, threads and lists are whole", async () => {
    await using service = await openWith({ part: "mood", fields: fail, event: fail }, say("Hello."), say("Again."))
    const reply = await service.call("POST", "/threads/messages", { content: "Hi" })
    assert.strictEqual(reply.status, 200)
    const { thread_id: id } = reply.body
    const stream = await service.call("POST", `/threads/${id}/messages`, { content: "Hi", stream: true })
    assert.include(stream.text, '"type":"mood_set"')
    assert.include(stream.text, '"type":"run_ended"')
    assert.include(service.logged.join("\n"), 'The wing of the part "mood" could not show its fields')
    for (const path of [`/threads/${id}`, "/threads"]) assert.strictEqual((await service.call("GET", path)).status, 200)
  })

  it("adds fields and takes none of the API", async () => {
    const fields: Wing["fields"] = () => ({ memory_operation_id: "mine", added: { mood: "kind", status: "mine" } })
    await using service = await openWith({ part: "mood", fields }, say("Hello."))
    const { body } = await service.call("POST", "/threads/messages", { content: "Hi" })
    assert.deepInclude(body, { mood: "kind", status: "COMPLETED", memory_operation_id: null })
  })

  it("that has a field of messages or a group of endpoints of the API stops the start, with its name", async () => {
    const problems = async (wing: Wing) => {
      await using service = await open([], { http: { wings: [wing] } })
      return service.ready().then(() => "none", String)
    }
    const own = messageFields("A mood", { stream: Schema.Literals(["zzz"]) })
    assert.include(await problems({ part: "mood", message: own }), 'the field "stream" already')
    const read = HttpApiEndpoint.get("read", "/moods", { success: Schema.String })
    const api = wingApi(HttpApiGroup.make("threads").add(read))
    const handlers = HttpApiBuilder.group(api, "threads", (group) => group.handle("read", () => Effect.succeed("kind")))
    const clash = await problems({ part: "moods", endpoints: served(api, handlers) })
    assert.include(clash, 'a group "threads" of endpoints already')
  })
})

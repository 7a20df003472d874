/** Wings that a host registers: their faults harm no conversation, and their names clash with none of the API. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, TurnParts } from "@colloquy/core"
import { say, ScriptedModel, type ScriptStep } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import { messageFields, served, webHandler, type Wing, wingApi } from "../src/index.ts"

const moodPart = TurnParts.part<string>({
  name: "mood",
  plan: Schema.String,
  decide: () => Effect.succeed({ plan: "kind", supplement: { mood: "kind" } }),
  recall: (_plan, turn) => Effect.sync(() => (turn.tell({ type: "mood_set", data: { mood: "kind" } }), []))
})

const open = (wing: Wing, ...script: ReadonlyArray<ScriptStep>) => {
  const logged: Array<string> = []
  const kernel = moodPart.pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(ScriptedModel.layer(script)),
    Layer.provide(InMemory.layer),
    Layer.merge(
      Logger.layer([Logger.make(({ cause, message }) => void logged.push(`${String(message)} ${Cause.pretty(cause)}`))])
    )
  )
  const { dispose, handler, ready } = webHandler({ kernel, authenticate: () => "ada", wings: [wing] })
  const call = async (path: string, body?: object) => {
    const response = await handler(
      new Request(`http://localhost${path}`, {
        method: body === undefined ? "GET" : "POST",
        ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) })
      })
    )
    return { status: response.status, text: await response.text() }
  }
  return { call, logged, ready, [Symbol.asyncDispose]: dispose }
}

const fail = (): never => {
  throw new Error("a fault of the host")
}

describe("a wing of a host", () => {
  it("whose code throws is left out: replies, streams, threads and lists are whole", async () => {
    await using service = open({ part: "mood", fields: fail, event: fail }, say("Hello."), say("Again."))
    const reply = await service.call("/threads/messages", { content: "Hi" })
    assert.strictEqual(reply.status, 200)
    const { thread_id: id } = JSON.parse(reply.text)
    const stream = await service.call(`/threads/${id}/messages`, { content: "Hi", stream: true })
    assert.include(stream.text, '"type":"mood_set"')
    assert.include(stream.text, '"type":"run_ended"')
    assert.include(service.logged.join("\n"), 'The wing of the part "mood" could not show its fields')
    for (const path of [`/threads/${id}`, "/threads"]) assert.strictEqual((await service.call(path)).status, 200)
  })

  it("adds fields and takes none of the API", async () => {
    const fields: Wing["fields"] = () => ({ memory_operation_id: "mine", added: { mood: "kind", status: "mine" } })
    await using service = open({ part: "mood", fields }, say("Hello."))
    const reply = JSON.parse((await service.call("/threads/messages", { content: "Hi" })).text)
    assert.deepInclude(reply, { mood: "kind", status: "COMPLETED", memory_operation_id: null })
  })

  it("that has a field of messages or a group of endpoints of the API stops the start, with its name", async () => {
    const problems = async (wing: Wing) => {
      await using service = open(wing)
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

/** Halves of characters in a conversation: strict vendors refuse the whole request, and so every further message of the conversation. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Anthropic from "../../src/providers/Anthropic.ts"
import { wellFormedJson } from "../../src/protocols/Wire.ts"
import { request } from "./Scenarios.ts"

describe("half of a character", () => {
  it.effect("is sent as the replacement character, in every text of a request", () =>
    Effect.gen(function* () {
      const bodies: Array<string> = []
      const { chat } = Anthropic.provider({
        fetch: async (_, init) => {
          bodies.push(await new Response(init?.body).text())
          return Response.json({ type: "message", content: [{ type: "text", text: "Hi" }], stop_reason: "end_turn" })
        }
      })
      const asked = request("p", {
        system: "cut \ud83d",
        messages: [{ role: "user", content: [{ type: "text", text: "\ude00 and \ud83d\ude00, C:\\ud83d" }] }]
      })
      yield* Stream.runDrain(chat?.(asked) ?? Stream.empty)
      const [body = ""] = bodies
      assert.include(body, '"cut \ufffd"')
      assert.include(body, '"\ufffd and \ud83d\ude00, C:\\\\ud83d"')
    })
  )

  it.each([
    ["\ud83d"],
    ["\\\ud83d"],
    ["\\ud83d"],
    ["\\\\ud83d\n"],
    ["\udc00\ud800"],
    ["\ud83d\ude00"],
    ['\u0001\udfff"']
  ])("becomes what toWellFormed makes of it: %j", (text) => {
    assert.strictEqual(JSON.parse(wellFormedJson(JSON.stringify(text))), text.toWellFormed())
  })
})

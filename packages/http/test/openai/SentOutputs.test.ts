/** Outputs of tools and arguments of calls in a conversation that OpenAI's clients send: a guard gets them as what they are. */
import { TurnParts } from "@colloquy/core"
import type { TextSource } from "@colloquy/core/adapters"
import { say } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { openai } from "../../src/openai/index.ts"
import { open } from "../Service.ts"

const model = "scripted/scripted-model"
const escaped = '{"key":"\\u0073k-12345678 \\ud835\\udc2c"}'
const plain = '{"key":"sk-12345678 𝐬"}'
const redacted = '{"key":"[key] 𝐬"}'
const prose = "\\u0073k-1 is no JSON"

const call = { name: "weather", arguments: escaped }
const bodies: ReadonlyArray<readonly [path: string, body: object]> = [
  [
    "/v1/chat/completions",
    {
      model,
      messages: [
        { role: "user", content: "Hi sk-1" },
        { role: "assistant", content: null, tool_calls: [{ id: "c", type: "function", function: call }] },
        { role: "tool", tool_call_id: "c", content: escaped },
        { role: "user", content: prose }
      ]
    }
  ],
  ...[true, false].map(
    (store) =>
      [
        "/v1/responses",
        {
          model,
          store,
          input: [
            { role: "user", content: "Hi sk-1" },
            { type: "function_call", call_id: "c", ...call },
            { type: "function_call_output", call_id: "c", output: escaped },
            { role: "user", content: prose }
          ]
        }
      ] as const
  )
]

const openGuarded = async (concerns?: (content: string) => boolean) => {
  const given: Array<readonly [TextSource["kind"], string]> = []
  const guard = TurnParts.part<null>({
    name: "guard",
    plan: Schema.Null,
    ...(concerns === undefined ? {} : { concerns: ({ content }) => concerns(content) }),
    decide: () => Effect.succeed({ plan: null }),
    rewrite: (text, { kind }) => Effect.sync(() => (given.push([kind, text]), text.replaceAll(/sk-\w+/gu, "[key]")))
  })
  const service = await open([say("Done.")], { http: { wings: [openai] } })
  await service.run(Layer.buildWithScope(guard, await service.run(Scope.make())))
  return Object.assign(service, { given })
}

describe("a conversation with calls", () => {
  it.each(bodies)("sent to %s is rewritten as outputs of tools, without escapes (%#)", async (path, body) => {
    await using service = await openGuarded()
    assert.strictEqual((await service.call("POST", path, body)).status, 200)
    assert.sameDeepMembers(service.given, [
      ["message", prose],
      ["message", "Hi sk-1"],
      ["message", ""],
      ["tool_output", plain],
      ["tool_output", plain]
    ])
    const [request] = service.model.requests
    const read = request?.messages.flatMap((message) => {
      if (message.role === "tool") return [message.output]
      return message.role === "assistant" ? message.toolCalls.map((each) => each.arguments) : []
    })
    assert.deepStrictEqual(read, [redacted, redacted])
  })

  it("is rewritten by the guards that the message as written concerns", async () => {
    const [[path, body] = ["", {}]] = bodies
    await using service = await openGuarded((content) => content.startsWith("Nothing"))
    assert.strictEqual((await service.call("POST", path, body)).status, 200)
    assert.deepStrictEqual(service.given, [])
  })
})

/** Calls to which a vendor gave no id: the id that they get here fits every vendor to which the conversation may go on. */
import { assert, describe, it } from "@effect/vitest"
import type { Provider } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Anthropic from "../../src/providers/Anthropic.ts"
import * as Gemini from "../../src/providers/Gemini.ts"
import * as OpenAi from "../../src/providers/OpenAi.ts"
import * as OpenAiCompatible from "../../src/providers/OpenAiCompatible.ts"
import { request } from "./Scenarios.ts"

type Fetch = typeof globalThis.fetch

const answers: ReadonlyArray<readonly [name: string, provider: (fetch: Fetch) => Provider, answer: object]> = [
  [
    "OpenAI Responses",
    (fetch) => OpenAi.provider({ fetch }),
    { object: "response", status: "completed", output: [{ type: "function_call", name: "f", arguments: "{}" }] }
  ],
  [
    "OpenAI Chat",
    (fetch) => OpenAiCompatible.provider({ fetch, id: "p", baseUrl: "http://127.0.0.1" }),
    { choices: [{ message: { tool_calls: [{ function: { name: "f", arguments: "{}" } }] }, finish_reason: "stop" }] }
  ],
  [
    "Gemini",
    (fetch) => Gemini.provider({ fetch }),
    { candidates: [{ content: { parts: [{ functionCall: { name: "f" } }] }, finishReason: "STOP" }] }
  ],
  [
    "Anthropic",
    (fetch) => Anthropic.provider({ fetch }),
    { type: "message", content: [{ type: "tool_use", name: "f", input: {} }], stop_reason: "tool_use" }
  ]
]

describe("a call without an id", () => {
  for (const [name, provider, answer] of answers) {
    it.effect(`of ${name} gets one of at most 40 characters`, () =>
      Effect.gen(function* () {
        const { chat } = provider(async () => Response.json(answer))
        const events = yield* Stream.runCollect(chat?.(request("p")) ?? Stream.empty)
        const ids = events.flatMap((event) => (event._tag === "ToolCallReady" ? [event.call.id] : []))
        assert.lengthOf(ids, 1)
        assert.match(ids[0] ?? "", /^[\w-]{20,40}$/u)
      })
    )
  }
})

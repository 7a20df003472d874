/** The schema of an answer on each vendor's wire: what it can enforce is asked for, everything else leaves the request as it was. */
import { type ChatRequest, describeModel } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import type * as Schema from "effect/Schema"
import * as Anthropic from "../../src/providers/Anthropic.ts"
import * as Gemini from "../../src/providers/Gemini.ts"
import * as OpenAi from "../../src/providers/OpenAi.ts"
import * as OpenAiCompatible from "../../src/providers/OpenAiCompatible.ts"
import * as OpenRouter from "../../src/providers/OpenRouter.ts"
import { anthropicSubset, fitted, geminiSubset, isStrict } from "../../src/protocols/OutputForms.ts"

const closed = {
  type: "object",
  properties: { name: { type: "string" }, tags: { type: "array", items: { $ref: "#/$defs/tag" } } },
  required: ["name", "tags"],
  additionalProperties: false,
  $defs: { tag: { enum: ["a", "b"] } }
}
const limited = {
  type: "object",
  properties: { name: { type: "string", description: "A name.", minLength: 2, pattern: "^[A-Z]" } },
  required: ["name"]
}
const tree: Schema.JsonObject = {
  type: "object",
  properties: { children: { type: "array", items: { $ref: "#/$defs/node" } } },
  $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } }
}

const asked = (schema: Schema.JsonObject, changes: Partial<ChatRequest> = {}): ChatRequest => ({
  provider: "p",
  model: "m",
  info: describeModel({ name: "m", provider: "p", modelType: "llm" }),
  system: null,
  tools: [],
  toolChoice: "auto",
  messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
  thinking: null,
  routing: null,
  jsonOutput: false,
  maxOutputTokens: null,
  apiKey: null,
  conversationId: "c",
  output: { name: "person", schema },
  ...changes
})

const wires = {
  responses: OpenAi.provider().wire,
  chat: OpenAi.provider({ wire: "chat" }).wire,
  gemini: Gemini.provider().wire,
  anthropic: Anthropic.provider().wire,
  router: OpenRouter.provider().wire,
  deepSeek: OpenAiCompatible.provider({ ...OpenAiCompatible.deepSeek }).wire,
  ollama: OpenAiCompatible.provider({ ...OpenAiCompatible.ollama }).wire
}

const sent = (wire: keyof typeof wires, request: ChatRequest): Schema.JsonObject =>
  JSON.parse(JSON.stringify(wires[wire]?.(request)))

const { output: _, ...plain } = asked(closed)

describe("the schema of an answer", () => {
  it("is asked for in the way of each vendor", () => {
    const format = { name: "person", schema: closed, strict: true }
    assert.deepInclude(sent("responses", asked(closed)), { text: { format: { type: "json_schema", ...format } } })
    const chat = { response_format: { type: "json_schema", json_schema: format } }
    assert.deepInclude(sent("chat", asked(closed)), chat)
    assert.deepInclude(sent("ollama", asked(closed)), chat)
    assert.deepInclude(sent("gemini", asked(closed)), {
      generationConfig: { responseMimeType: "application/json", responseJsonSchema: closed }
    })
    assert.deepInclude(sent("anthropic", asked(closed)), {
      output_config: { format: { type: "json_schema", schema: closed } }
    })
  })

  it("shares a field with the effort of thinking", () => {
    const request = asked(closed, { thinking: { effort: "low" } })
    assert.deepInclude(sent("anthropic", request), {
      output_config: { effort: "low", format: { type: "json_schema", schema: closed } }
    })
  })

  it("is asked of a routing vendor only for a model that is listed with it", () => {
    const info = describeModel({ name: "m", provider: "p", modelType: "llm", supportsOutputSchema: true })
    assert.property(sent("router", asked(closed, { info })), "response_format")
    assert.deepStrictEqual(sent("router", asked(closed)), sent("router", plain))
  })

  it("leaves the request as it was where a vendor or a model has no schemas", () => {
    assert.deepStrictEqual(sent("deepSeek", asked(closed)), sent("deepSeek", plain))
    const info = describeModel({ name: "m", provider: "p", modelType: "llm", supportsOutputSchema: false })
    for (const wire of ["responses", "chat", "gemini", "anthropic", "ollama"] as const) {
      assert.deepStrictEqual(sent(wire, asked(closed, { info })), sent(wire, { ...plain, info }), wire)
    }
    const tools = [{ name: "t", description: null, parameters: null }]
    assert.deepStrictEqual(sent("gemini", asked(closed, { tools })), sent("gemini", { ...plain, tools }))
    assert.deepStrictEqual(sent("anthropic", asked(tree)), sent("anthropic", plain))
  })
})

describe("a schema in a vendor's subset", () => {
  it("tells the model the limits that the vendor does not enforce", () => {
    assert.deepStrictEqual(fitted(limited, geminiSubset), {
      type: "object",
      properties: { name: { type: "string", description: `A name. (minLength: 2, pattern: "^[A-Z]")` } },
      required: ["name"]
    })
  })

  it("is closed where the vendor wants it, unless it says that it is open", () => {
    assert.deepInclude(fitted(limited, anthropicSubset), { additionalProperties: false })
    assert.isNull(fitted({ ...limited, additionalProperties: true }, anthropicSubset))
    assert.isNull(fitted({ ...limited, additionalProperties: { type: "string" } }, anthropicSubset))
  })

  it("is none where its shape cannot be said", () => {
    assert.isNull(fitted(tree, anthropicSubset))
    assert.deepStrictEqual(fitted(tree, geminiSubset), tree)
    assert.isNull(
      fitted({ type: "object", properties: { a: { type: "object", patternProperties: {} } } }, geminiSubset)
    )
    assert.isNull(fitted({ type: "object", properties: { a: true } }, geminiSubset))
  })

  it("says oneOf as anyOf, and a constant as the only value", () => {
    const schema = { type: "object", properties: { a: { oneOf: [{ const: "x" }, { type: "null" }] } } }
    assert.deepStrictEqual(fitted(schema, geminiSubset), {
      type: "object",
      properties: { a: { anyOf: [{ enum: ["x"] }, { type: "null" }] } }
    })
  })

  it("is strict for OpenAI if all of it can be enforced", () => {
    assert.isTrue(isStrict(closed))
    assert.isFalse(isStrict(limited))
    assert.isFalse(isStrict({ ...closed, required: ["name"] }))
    assert.isFalse(isStrict({ ...closed, properties: { name: { type: "string", minLength: 1 } }, required: ["name"] }))
  })
})

/** What a reader sees of an object that is still being written. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { PartialJson } from "../../src/outputs/PartialJson.ts"

const after = (...pieces: ReadonlyArray<string>): Schema.Json | undefined => {
  const partial = new PartialJson()
  for (const piece of pieces) partial.push(piece)
  return partial.value
}

describe("an object that is being written", () => {
  it.each<[string, Schema.Json | undefined]>([
    ["", undefined],
    ["Here it is: ```json\n{", {}],
    [`{"na`, {}],
    [`{"name"`, {}],
    [`{"name": "A`, { name: "A" }],
    [`{"name": "Ada\\`, { name: "Ada" }],
    [`{"name": "\\u00e`, { name: "" }],
    [`{"name": "\\u00e4\\"\\n`, { name: `ä"\n` }],
    [`{"age": 3`, {}],
    [`{"age": 36,`, { age: 36 }],
    [`{"a": [1, 2, {"b": tr`, { a: [1, 2, {}] }],
    [`{"a": [1, [2, "x`, { a: [1, [2, "x"]] }],
    [`{"a": [[], "x", "y`, { a: [[], "x", "y"] }],
    [`{"a": {"b": {}}, "c": null }\n\`\`\`\nThat is all {"d": 1}`, { a: { b: {} }, c: null }],
    [`[true, false, -1.5e3, "`, [true, false, -1500, ""]]
  ])("%s", (text, value) => {
    assert.deepStrictEqual(after(text), value)
    assert.deepStrictEqual(after(...text.split("")), value)
  })

  it("may have any name", () => {
    const value = after(`{"__proto__": {"a": 1}, "constructor": 2}`)
    assert.strictEqual(JSON.stringify(value), `{"__proto__":{"a":1},"constructor":2}`)
  })

  it.prop(
    "is the whole object at the end, however it was cut, with line breaks or without",
    {
      value: Schema.Record(Schema.String, Schema.Json),
      size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })),
      isIndented: Schema.Boolean
    },
    ({ isIndented, size, value }) => {
      const text = JSON.stringify(value, null, isIndented ? 2 : undefined)
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []
      assert.strictEqual(JSON.stringify(after(...pieces)), JSON.stringify(value))
    },
    { arbitrary: { runs: 500 } }
  )

  it("is shown no deeper than anybody writes", () => {
    assert.isDefined(JSON.stringify(after("[".repeat(100_000))))
  })
})

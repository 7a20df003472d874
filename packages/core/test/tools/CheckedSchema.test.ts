/** JSON Schemas of users: what they check, what is refused, and that no schema and no value takes long. */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Ajv2020 } from "ajv/dist/2020.js"
import { mostSchemaBytes, checkedSchema } from "../../src/tools/CheckedSchema.ts"

const read = (schema: Schema.Json) =>
  Result.getOrElse(checkedSchema(schema), (problems) => assert.fail(JSON.stringify(problems)))

const valueProblems = (schema: Schema.Json, value: Schema.Json) =>
  read(schema)
    .findProblems(value)
    .map(({ message, path }) => `/${path.join("/")} ${message}`)

const refusals = (schema: Schema.Json) =>
  Result.match(checkedSchema(schema), {
    onSuccess: () => [],
    onFailure: (problems) => problems.map(({ path }) => `/${path.join("/")}`)
  })

const person = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  description: "A person.",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 3 },
    age: { type: "integer", minimum: 0, exclusiveMaximum: 150 },
    tags: { type: "array", items: { $ref: "#/$defs/tag" }, maxItems: 2, uniqueItems: true },
    parent: { anyOf: [{ $ref: "#" }, { type: "null" }] },
    mail: { type: "string", pattern: "^\\S+@\\S+$", format: "email" }
  },
  required: ["name", "age"],
  additionalProperties: false,
  $defs: { tag: { enum: ["a", "b", { c: [1, 2] }] } }
}

describe("a value", () => {
  it("fits, or every problem is told with its place", () => {
    assert.deepStrictEqual(
      valueProblems(person, { name: "Ada", age: 36, tags: ["a", { c: [1, 2] }], parent: null }),
      []
    )
    assert.deepStrictEqual(valueProblems(person, "Ada"), ["/ must be an object, and is a text"])
    assert.deepStrictEqual(valueProblems(person, { name: "", age: 1.5, tags: ["a", "x", "a"], hat: 1, mail: "none" }), [
      "/name must have at least 1 characters",
      "/age must be an integer, and is a number",
      "/tags/1 is not one of the values of the schema",
      "/tags must have at most 2 items",
      "/tags has an item twice",
      "/mail does not match the pattern of the schema",
      "/hat is not a field of the schema"
    ])
    assert.deepStrictEqual(valueProblems(person, { name: "😀😀😀", age: 150, parent: { name: "B" } }), [
      "/age must be less than 150",
      "/parent fits none of the 2 alternatives",
      "/parent/age is missing"
    ])
  })

  it("has no fields of objects in general", () => {
    assert.deepStrictEqual(valueProblems({ required: ["constructor", "__proto__"] }, {}), [
      "/constructor is missing",
      "/__proto__ is missing"
    ])
    const hostile = JSON.parse(`{"type":"object","properties":{"__proto__":{"type":"string"}}}`)
    assert.deepStrictEqual(valueProblems(hostile, JSON.parse(`{"__proto__":1,"toString":2}`)), [
      "/__proto__ must be a text, and is an integer"
    ])
  })

  it.each([
    [0.3, 0.1, true],
    [19.99, 0.01, true],
    [4.35, 0.01, true],
    [123_456_789_012.34, 0.01, true],
    [12_345_678_901.234, 0.01, false],
    [1e12 + 0.5, 1, false]
  ])("%s is compared with the multiples of %s", (value, multipleOf, fits) => {
    assert.strictEqual(valueProblems({ multipleOf }, value).length === 0, fits)
  })

  it("must fit exactly one of oneOf", () => {
    const schema = {
      oneOf: [
        { type: "number", multipleOf: 0.1 },
        { type: "number", minimum: 5 }
      ]
    }
    assert.deepStrictEqual(valueProblems(schema, 0.3), [])
    assert.deepStrictEqual(valueProblems(schema, 7), ["/ fits more than one of the alternatives, and must fit one"])
    assert.deepStrictEqual(valueProblems(schema, 0.35), [
      "/ fits none of the 2 alternatives",
      "/ must be a multiple of 0.1"
    ])
  })

  const schemas: ReadonlyArray<Schema.JsonObject | boolean> = [
    person,
    true,
    false,
    { type: ["string", "null"], minLength: 2 },
    { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false, minItems: 1 },
    { type: "object", patternProperties: { "^a": { type: "number" } }, additionalProperties: { type: "string" } },
    { type: "object", minProperties: 1, maxProperties: 2 },
    { allOf: [{ minimum: 2 }, { maximum: 4 }] },
    { oneOf: [{ type: "string" }, { const: null }, { minimum: 3 }] },
    { items: { $ref: "#" }, type: ["array", "number"] },
    { enum: [{ a: 1, b: 2 }, [1], "x", 3.5] }
  ]
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const others = schemas.map((schema) => ({ schema, own: read(schema), other: ajv.compile(schema) }))

  /** Null: the other implementation cannot compare such a value. It calls `toString` of a value that has a field of that name. */
  const judged = (other: (value: Schema.Json) => boolean, value: Schema.Json): boolean | null => {
    try {
      return other(value)
    } catch {
      return null
    }
  }

  it.prop("fits where another implementation says so", { value: Schema.Json }, ({ value }) => {
    for (const { other, own, schema } of others) {
      const expected = judged((each) => other(each), value)
      if (expected === null) continue
      assert.strictEqual(own.findProblems(value).length === 0, expected, JSON.stringify({ schema, value }))
    }
  })

  it("is compared with another implementation in cases that are near", () => {
    const values: ReadonlyArray<Schema.Json> = [
      { name: "Ada", age: 3 },
      { name: "Ada", age: 3, tags: ["a", "b"] },
      { name: "Ada", age: 3, parent: { name: "B", age: 1, parent: null } },
      ["x", 1],
      ["x"],
      ["x", "y"],
      ["x", 1, 2],
      { a: 1, b: "x" },
      { a: "1" },
      { b: 2 },
      {},
      { b: 2, a: 1 },
      [[1, [2]], 3],
      [1],
      3,
      3.5,
      null,
      "ab"
    ]
    for (const value of values) {
      for (const { other, own, schema } of others) {
        assert.strictEqual(own.findProblems(value).length === 0, other(value), JSON.stringify({ schema, value }))
      }
    }
  })
})

describe("a schema is refused, with the place,", () => {
  it.each<[string, Schema.Json, ReadonlyArray<string>]>([
    [
      "with a keyword that is not checked",
      { properties: { a: { not: {} }, b: { if: {} } } },
      ["/properties/a/not", "/properties/b/if"]
    ],
    [
      "with dependencies",
      { dependentRequired: {}, unevaluatedProperties: false },
      ["/dependentRequired", "/unevaluatedProperties"]
    ],
    ["with a pattern that is not linear", { items: { pattern: "(a)\\1" } }, ["/items/pattern"]],
    ["with a bad pattern", { patternProperties: { "(": {} } }, ["/patternProperties"]],
    ["with a type that does not exist", { type: "text" }, ["/type"]],
    ["with a reference to another document", { $ref: "https://example.org/s.json" }, ["/$ref"]],
    ["with a reference to nothing", { anyOf: [{ $ref: "#/$defs/none" }] }, ["/anyOf/0/$ref"]],
    ["with a reference to what is no schema", { $ref: "#/title", title: "x" }, ["/title"]],
    ["that is no schema", "string", ["/"]],
    ["with a list of schemas as items", { items: [{}] }, ["/items"]],
    ["with OpenAPI's nullable", { type: "string", nullable: true }, ["/nullable"]],
    [
      "with a bad limit",
      { minLength: -1, maximum: "3", multipleOf: 0, required: "a" },
      ["/minLength", "/maximum", "/multipleOf", "/required"]
    ],
    [
      "that refers to itself for the same value",
      { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ $ref: "#/$defs/b" }] }, b: { allOf: [{ $ref: "#/$defs/a" }] } } },
      ["/"]
    ]
  ])("%s", (_name, schema, places) => assert.deepStrictEqual(refusals(schema), places))

  it("with more than 20 levels", () => {
    const nested = (levels: number): Schema.Json =>
      levels === 1 ? { type: "string" } : { type: "object", properties: { a: nested(levels - 1) } }
    assert.deepStrictEqual(refusals(nested(20)), [])
    assert.strictEqual(refusals(nested(21)).length, 1)
    assert.strictEqual(refusals(nested(5000)).length, 1)
    assert.strictEqual(refusals(JSON.parse(`{"const":${"[".repeat(9000)}${"]".repeat(9000)}}`)).length, 1)
  })

  it("with more than 64 KiB", () => {
    const ofBytes = (bytes: number) => ({ title: "x".repeat(bytes - `{"title":""}`.length) })
    assert.deepStrictEqual(refusals(ofBytes(mostSchemaBytes)), [])
    assert.deepStrictEqual(refusals(ofBytes(mostSchemaBytes + 1)), ["/"])
  })
})

describe("work", () => {
  const took = (work: () => void): number => {
    const before = process.cpuUsage()
    work()
    const { system, user } = process.cpuUsage(before)
    return (system + user) / 1000
  }
  const branches = (count: number, branch: Schema.Json): Schema.Json => ({
    anyOf: Array.from({ length: count }, () => branch)
  })

  it.each<[string, Schema.Json, Schema.Json]>([
    [
      "alternatives in alternatives",
      {
        $ref: "#/$defs/a",
        $defs: {
          a: {
            anyOf: [1, 2, 3].map((least) => ({
              type: "object",
              required: ["b"],
              minProperties: least,
              properties: { a: { $ref: "#/$defs/a" } }
            }))
          }
        }
      },
      Array.from({ length: 150 }).reduce<Schema.Json>((a) => ({ a }), {})
    ],
    [
      "many alternatives for many fields",
      branches(1200, { properties: {}, minimum: 1, type: "null" }),
      Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`f${index}`, 1]))
    ],
    ["many alternatives for a long text", branches(2000, { minLength: 1e9 }), "x".repeat(200_000)],
    ["patterns for a long text", branches(100, { pattern: "^(a+)+b$" }), "a".repeat(200_000)],
    ["many values", branches(200, { enum: [1] }), Array.from({ length: 50_000 }, () => "x")]
  ])("is bounded for %s", (_name, schema, value) => {
    const checked = read(schema)
    let problems: ReadonlyArray<unknown> = []
    const millis = took(() => (problems = checked.findProblems(value)))
    assert.deepStrictEqual(problems, [{ path: [], message: "takes too long to be checked" }])
    // So little that nobody waits for it, and much more than it takes, also on a busy machine.
    assert.isBelow(millis, 2000)
  })

  it("is bounded for a long chain of references", () => {
    const chain = Object.fromEntries(
      Array.from({ length: 1500 }, (_, index) => [`d${index}`, { $ref: `#/$defs/d${index + 1}` }])
    )
    assert.deepStrictEqual(valueProblems({ $ref: "#/$defs/d0", $defs: { ...chain, d1500: { type: "string" } } }, 1), [
      "/ must be a text, and is an integer"
    ])
  })

  it("tells at most a hundred problems", () => {
    assert.lengthOf(
      valueProblems(
        { items: { type: "string" } },
        Array.from({ length: 500 }, () => 1)
      ),
      100
    )
  })

  it("refuses a value that is too deep", () => {
    assert.deepStrictEqual(valueProblems({}, JSON.parse(`${"[".repeat(5000)}${"]".repeat(5000)}`)), [
      "/ is nested too deep"
    ])
  })
})

/** JSON from outside: what is too deep or too much is refused before anything reads it, and what only looks so is not. */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import {
  canonicalJson,
  holdsMoreThan,
  isJsonObject,
  maximumDepth,
  maximumValues,
  parseJson,
  parsingJson
} from "../src/wire/Json.ts"

const read = (text: string) =>
  Result.match(parseJson(text), { onFailure: (fault) => fault, onSuccess: (value) => ({ value }) })

const deep = (depth: number, [open, close]: readonly [string, string]): string =>
  open.repeat(depth) + close.repeat(depth)

const tooDeep = deep(maximumDepth + 1, ["[", "]"])

describe("JSON from outside", () => {
  it.each([
    ["lists", ["[", "]"]],
    ["objects", ['{"a":', "}"]],
    ["both in turn", ['[{"a":', "}]"]]
  ] as const)("is refused when %s are nested too deep", (_, [open, close]) => {
    const levels = open.startsWith("[{") ? 2 : 1
    const whole = (depth: number) => deep(depth / levels, [open, close]).replace('":}', '":1}')
    assert.isObject(read(whole(maximumDepth)))
    assert.strictEqual(read(whole(maximumDepth + levels)), "too_deep")
    // What is closed again is not deep.
    assert.isObject(read(`[${Array.from({ length: 300 }, () => whole(levels)).join(",")}]`))
  })

  it("is refused with too many values, or too many brackets", () => {
    const values = (count: number) => `[${Array.from({ length: count }, () => "1").join(",")}]`
    assert.isObject(read(values(maximumValues)))
    assert.strictEqual(read(values(maximumValues + 1)), "too_many")
    const lists = (count: number) => `[${Array.from({ length: count - 1 }, () => "{}").join(",")}]`
    assert.isObject(read(lists(maximumValues)))
    assert.strictEqual(read(lists(maximumValues + 1)), "too_many")
  })

  it.each([
    ["a quote", '"'],
    ["a backslash", "\\"],
    ["both", '\\"'],
    ["two backslashes and a quote", '\\\\"']
  ])("may have brackets and commas in a text, before and behind %s too", (_, mark) => {
    const marks = "[{,".repeat(maximumValues)
    const value = [marks + mark + marks, mark]
    assert.deepStrictEqual(read(JSON.stringify(value)), { value })
    // What stands behind the text counts.
    assert.strictEqual(read(`[${JSON.stringify(mark)},${tooDeep}]`), "too_deep")
  })

  it("is refused when what is nested too deep stands between empty texts", () => {
    assert.strictEqual(read(`["",${tooDeep},""]`), "too_deep")
  })

  it.each([
    ["outside of texts", `[${" ".repeat(1_000_000)}]`],
    ["in a text with many quotes", JSON.stringify('"'.repeat(1_000_000))]
  ])("of a million characters %s is looked over in several steps, and not in one for each character", (_, text) => {
    const { length } = Array.from(parsingJson(text))
    assert.isAbove(length, 1)
    assert.isBelow(length, 1000)
  })

  it.each(["", "{", "[1,]", '"a', '{"a":1}}', "undefined"])("that is none (%j) is malformed", (text) => {
    assert.strictEqual(read(text), "malformed")
  })
})

describe("a value", () => {
  it("holds more than a number of others, or not", () => {
    const value = { a: [1, 2], b: { c: null } }
    assert.deepStrictEqual(
      [holdsMoreThan(value, 4), holdsMoreThan(value, 5), holdsMoreThan("text", 0)],
      [true, false, false]
    )
  })

  it("is an object, or not", () => {
    assert.deepStrictEqual(["{}", '{"a":1}', "[]", "null", "1", "{"].map(isJsonObject), [
      true,
      true,
      false,
      false,
      false,
      false
    ])
  })

  it("has one text, whatever the order of its keys", () => {
    assert.strictEqual(canonicalJson({ b: [{ d: 1, c: 2 }], a: null }), '{"a":null,"b":[{"c":2,"d":1}]}')
    assert.strictEqual(
      canonicalJson(JSON.parse('{"a":null,"b":[{"c":2,"d":1}]}')),
      canonicalJson({ b: [{ d: 1, c: 2 }], a: null })
    )
  })
})

/** Escapes of JSON as the characters that they stand for, so that a part finds its words in it. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { withoutEscapes } from "../../src/turns/JsonEscapes.ts"

describe("an escape of JSON", () => {
  it.each([
    ["of a letter", '"\\u0073k\\u002D1"', '"sk-1"'],
    ["of a slash", '"a\\/b"', '"a/b"'],
    ["of a pair", '"\\ud83d\\ude00"', '"😀"'],
    ["of pairs, in either case", '"\\uD835\\uDC2c\\ud835\\uDC24-1"', '"𝐬𝐤-1"'],
    ["of a pair beside others", '"\\u0061\\ud83d\\ude00\\u0062"', '"a😀b"']
  ])("%s becomes its characters", (_, json, expected) => {
    assert.strictEqual(withoutEscapes(json), expected)
  })

  it.each([
    ["that JSON needs", '"\\u0022 \\u005c \\" \\\\ \\n \\u000a"'],
    ["of the first half of a pair", '"\\ud83d"'],
    ["of the second half", '"\\ude00"'],
    ["of halves in the wrong order", '"\\ude00\\ud83d"'],
    ["of two first halves", '"\\ud83d\\ud83d"'],
    ["of halves with something between", '"\\ud83d \\ude00"'],
    ["behind a backslash that stands for itself", '"\\\\ud83d\\\\ude00 \\\\u0041"']
  ])("%s stays", (_, json) => {
    assert.strictEqual(withoutEscapes(json), json)
  })

  it("of a half before a pair stays, and the pair is read", () => {
    assert.strictEqual(withoutEscapes('"\\ud83d\\ud83d\\ude00"'), '"\\ud83d😀"')
  })

  const Units = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0xffff })))
  const Halves = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0xd7ff, maximum: 0xe000 })))
  it.prop(
    "changes nothing of the value, whatever is escaped",
    { units: Units, halves: Halves },
    ({ halves, units }) => {
      for (const each of [units, halves]) {
        const escapes = each.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
        const text: unknown = JSON.parse(withoutEscapes(`"${escapes.join("")}"`))
        assert.strictEqual(text, String.fromCharCode(...each))
      }
    }
  )
})

/** Patterns of others: the same matches as JavaScript's own engine, without its bad cases. */
import { assert, describe, it } from "@effect/vitest"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { linearPattern } from "../../src/tools/LinearPattern.ts"

const matcher = (source: string) =>
  Option.getOrElse(linearPattern(source), () => assert.fail(`${source} was refused`)).isIn

const characters = ["a", "b", ".", "[ab]", "[^a]", "\\w", "^", "$", "\\n"] as const
const signs = ["*", "+", "?", "{2}", "{1,3}", "{0,}", "*?"] as const
const Step = Schema.Literals([...characters, ...signs, "beside", "or"])

/** Each character is put onto a stack; a sign repeats the topmost pattern, and the words join the two topmost ones. */
const patternFrom = (steps: ReadonlyArray<typeof Step.Type>): string => {
  const stack: Array<string> = []
  for (const step of steps) {
    const isSign = signs.some((sign) => sign === step)
    const last = isSign || step === "beside" || step === "or" ? (stack.pop() ?? "") : ""
    if (step === "beside") stack.push((stack.pop() ?? "") + last)
    else if (step === "or") stack.push(`(${stack.pop() ?? ""}|${last})`)
    else stack.push(isSign ? `(?:${last})${step}` : step)
  }
  return stack.join("")
}

describe("a pattern", () => {
  it.each([
    ["^[a-z]{2,4}$", ["ab", "abcd"], ["a", "abcde", "AB", "ab "]],
    ["^\\d{4}-\\d{2}-\\d{2}$", ["2026-11-23"], ["2026-1-23", "x2026-11-23"]],
    ["^\\S+@\\S+\\.\\w+$", ["ada@example.org"], ["ada", "a b@example.org"]],
    ["colou?r", ["the color red", "colours"], ["colr"]],
    ["^(?:yes|no)?$", ["yes", "no", ""], ["maybe", "yesno"]],
    ["^(?<year>[12]\\d{3})$", ["1999"], ["3999"]],
    ["^[\\p{Lu}\\]\\\\]+$", ["ÄÖ]\\"], ["ä"]],
    ["^.$", ["😀", "a"], ["\n", "ab", ""]],
    ["^\\u{1F600}\\x41\\u0042$", ["😀AB"], ["AB"]],
    ["^(a+)+$", ["aaaa"], ["aaab"]],
    ["^(?:a|b|ab)*c$", ["ababc", "c"], ["abab"]],
    ["a{0}b", ["b"], ["a"]],
    ["x{2,}?y", ["xxy"], ["xy"]],
    ["a^|b$", ["ab"], ["ba"]]
  ])("%s", (source, matches, others) => {
    const isIn = matcher(source)
    for (const text of matches) assert.isTrue(isIn(text), text)
    for (const text of others) assert.isFalse(isIn(text), text)
  })

  it.prop(
    "matches what JavaScript's own engine matches",
    { steps: Schema.Array(Step), text: Schema.Array(Schema.Literals(["a", "b", "\n", "😀"])) },
    ({ steps, text }) => {
      const pattern = patternFrom(steps)
      const found = linearPattern(pattern)
      if (Option.isNone(found)) return
      assert.strictEqual(found.value.isIn(text.join("")), new RegExp(pattern, "u").test(text.join("")), pattern)
    },
    { arbitrary: { runs: 2000 } }
  )

  it.each([
    "(a",
    "[b-a]",
    "a{2,1}",
    "(?=a)b",
    "(?!a)b",
    "(?<=a)b",
    "(?<!a)b",
    "(a)\\1",
    "(?<x>a)\\k<x>",
    "\\bword",
    "a{2000}",
    "((a{99}){99}){99}",
    "(((){9999}){9999}){9999}",
    `${"(".repeat(600)}a${")".repeat(600)}`
  ])("%s is refused", (pattern) => assert.isTrue(Option.isNone(linearPattern(pattern))))

  it.each(["^(a+)+$", "^(a|a)*$", "^(?:a*)*b", "a*a*a*a*b", "^(?:a?){50}a{50}$"])(
    "%s takes steps in line with the text",
    (pattern) => {
      const isIn = matcher(pattern)
      // JavaScript's own engine would take longer than anybody lives.
      assert.isFalse(isIn(`${"a".repeat(20_000)}!`))
    }
  )
})

/** What lets an evaluation pass, and how it is written for build servers, programs and pull requests. */
import { type CaseResult, failedResult, gate, gateRecord, toJUnit, toMarkdown } from "@colloquy/core/evals"
import { assert, describe, it } from "@effect/vitest"

const result = (variant: string, place: number, passed: boolean, fields: Partial<CaseResult> = {}): CaseResult => ({
  ...failedResult({ caseId: `c${place}`, caseName: `case ${place}`, tags: [], variant, repeat: 0 }, ""),
  passed,
  scores: [{ scorer: "contains", expected: 'contains "x"', value: Number(passed), passed, reason: "The answer is: y" }],
  error: null,
  content: "y",
  costUsd: 0.01,
  millis: 250,
  ...fields
})

const variant = (name: string, count: number, passes: (place: number) => boolean) =>
  Array.from({ length: count }, (_, place) => result(name, place, passes(place)))

describe("the gate", () => {
  it("asks every variant for its share", () => {
    const results = variant("now", 30, (place) => place < 27)
    assert.isTrue(gate(results, { min: 0.9 }).passed)
    assert.deepStrictEqual(gate(results, { min: 0.95 }).reasons, ['"now" passes 27 of 30 (90 %); 95 % is needed.'])
    assert.isTrue(gate(results).passed)
  })

  it("catches a variant that is likely worse than the first one, and lets chance pass", () => {
    const now = variant("now", 30, () => true)
    const worse = gate([...now, ...variant("new", 30, (place) => place >= 8)], { min: 0.5 })
    assert.deepStrictEqual(worse.reasons, [
      '"new" is better than "now" in 0, worse in 8 of 30 cases, likely not chance (p = 0.008).'
    ])
    assert.isTrue(gate([...now, ...variant("new", 30, (place) => place >= 3)], { min: 0.5 }).passed)
    assert.isFalse(gate(now, { baseline: "old" }).passed)
    const better = [...variant("new", 30, (place) => place >= 8), ...now]
    assert.isTrue(gate(better).passed)
    assert.isFalse(gate(better, { baseline: "now" }).passed)
  })

  it("is not passed without results, or where nothing could be judged", () => {
    const failed = { ...failedResult(result("a", 0, false), "no such model"), variant: "a" }
    assert.deepStrictEqual(gate([failed]).reasons, ['"a" could not be judged: no such model'])
    assert.isTrue(gate([failed, result("a", 1, true)]).passed)
    assert.deepStrictEqual(gate([], { min: 0 }).reasons, ["No case was answered."])
  })
})

describe("a gate without a share", () => {
  it("is not passed by variants that pass nothing, however alike they are", () => {
    const none = [...variant("a", 4, () => false), ...variant("b", 4, () => false)]
    assert.deepStrictEqual(gate(none).reasons, [
      '"a" passes 0 of 4 (0 %); more than none is needed.',
      '"b" passes 0 of 4 (0 %); more than none is needed.'
    ])
    assert.isTrue(gate(none, { min: 0 }).passed)
    assert.isTrue(gate([...variant("a", 4, () => false), ...variant("a", 5, () => true)]).passed)
  })
})

describe("reports", () => {
  const hostile = result("new", 1, false, {
    caseName: 'say "<&>"\u0000 | @here\n# big',
    scores: [{ scorer: "contains", expected: "contains x", value: 0, passed: false, reason: "]]> <img src=x> \uD800" }]
  })
  const results = [
    result("new", 0, true),
    hostile,
    result("new", 1, true, { repeat: 1 }),
    { ...failedResult(result("new", 2, false), "The model could not be reached."), variant: "new" }
  ]
  const found = gate(results, { min: 1 })

  it("for build servers count failures and errors, whatever stands in names and answers", () => {
    assert.strictEqual(
      toJUnit(found),
      `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="new" tests="4" failures="1" errors="1" time="0.750">
    <testcase name="case 0" classname="new" time="0.250"/>
    <testcase name="say &quot;&lt;&amp;&gt;&quot;\uFFFD | @here
# big" classname="new" time="0.250">
      <failure message="contains x: ]]&gt; &lt;img src=x&gt; \uFFFD">contains x: ]]&gt; &lt;img src=x&gt; \uFFFD</failure>
    </testcase>
    <testcase name="case 1 (2)" classname="new" time="0.250"/>
    <testcase name="case 2" classname="new" time="0.000">
      <error message="The model could not be reached.">The model could not be reached.</error>
    </testcase>
  </testsuite>
</testsuites>
`
    )
  })

  it("for programs have the words of the wire", () => {
    const record = gateRecord(found)
    assert.deepInclude(record, { passed: false, reasons: ['"new" passes 2 of 4 (50 %); 100 % is needed.'] })
    assert.deepInclude(record.variants[0], { variant: "new", cases: 3, attempts: 4, pass_rate: 0.5 })
    assert.deepInclude(record.results[0], { case_id: "c0", ms: 250, cost_usd: 0.01 })
    assert.deepStrictEqual(JSON.parse(JSON.stringify(record)), record)
  })

  it("for pull requests keep every cell in its place", () => {
    const text = toMarkdown(found)
    assert.include(text, '## Evaluation: not passed\n\n- "new" passes 2 of 4 (50 %); 100 % is needed.\n\n|')
    assert.include(text, '**say "&lt;&amp;>"\uFFFD \\| @\u200Bhere \\# big**: contains x: \\]\\]> &lt;img src=x>')
    assert.notInclude(text, "<img")
  })

  it("write the name of a variant between tags as HTML, and elsewhere as Markdown", () => {
    const named = [result("gpt_5*</summary>\n\n# @x", 0, false)]
    const text = toMarkdown(gate(named))
    assert.include(text, "<summary>Not passed by gpt_5*&lt;/summary&gt; # @\u200Bx: 1</summary>")
    assert.include(text, "| gpt\\_5\\*&lt;/summary> \\# @\u200Bx |")
  })

  it("show what was written as character references as it was written", () => {
    const text = toMarkdown(gate([result("new", 0, false, { caseName: "&commat;ceo &lt;b>" })], { min: 1 }))
    assert.include(text, "**&amp;commat;ceo &amp;lt;b>**")
  })

  it("of two variants name the cases that got worse", () => {
    const compared = gate([...variant("now", 8, () => true), ...variant("new", 8, (place) => place > 6)])
    assert.include(
      toMarkdown(compared),
      '"new" is better than "now" in 0, worse in 7 of 8 cases, likely not chance (p = 0.016).\n\nPass rate -0.875'
    )
    assert.include(toMarkdown(compared), 'Worse:\n\n- **case 0**: contains "x": The answer is: y\n- **case 1**')
  })
})

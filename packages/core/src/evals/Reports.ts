/** Pure: a gate for those who read it: JUnit for build servers, JSON for programs, Markdown for a pull request. */
import type { CaseResult } from "./CaseResult.ts"
import { type Comparison, differenceInWords } from "./Comparison.ts"
import { shorten } from "./Expectation.ts"
import { type Gate, inPercent, passedInWords } from "./Gate.ts"
import { type CaseSummary, groupResults, failureReasons, type VariantSummary } from "./Summary.ts"

// ------ JUnit

/** A suite for each variant, a test for each attempt. */
export const toJUnit = ({ results }: Gate): string => {
  const suites = [...groupResults(results, ({ variant }) => variant)].map(([variant, ofVariant]) => {
    const failures = ofVariant.filter(({ error, passed }) => !passed && error === null).length
    const errors = ofVariant.filter(({ error }) => error !== null).length
    const time = seconds(ofVariant.reduce((sum, { millis }) => sum + millis, 0))
    const tests = ofVariant.map(toTest).join("\n")
    return `  <testsuite name="${escapeXml(variant)}" tests="${ofVariant.length}" failures="${failures}" errors="${errors}" time="${time}">\n${tests}\n  </testsuite>`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join("\n")}\n</testsuites>\n`
}

const toTest = (result: CaseResult): string => {
  const name = result.repeat === 0 ? result.caseName : `${result.caseName} (${result.repeat + 1})`
  const open = `    <testcase name="${escapeXml(name)}" classname="${escapeXml(result.variant)}" time="${seconds(result.millis)}"`
  if (result.passed) return `${open}/>`
  const reasons = failureReasons(result)
  const kind = result.error === null ? "failure" : "error"
  const message = escapeXml(shorten(reasons[0] ?? "", 200))
  return `${open}>\n      <${kind} message="${message}">${escapeXml(reasons.join("\n"))}</${kind}>\n    </testcase>`
}

const seconds = (millis: number): string => (millis / 1000).toFixed(3)

/** Characters that XML does not have are shown as one that says so. */
const escapeXml = (text: string): string =>
  text
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")

// ------ JSON

/** The gate and everything under it as JSON. */
export const gateRecord = ({ comparisons, passed, reasons, results, variants }: Gate) => ({
  passed,
  reasons,
  variants: variants.map(variantRecord),
  comparisons: comparisons.map(comparisonRecord),
  results: results.map(resultRecord)
})

/** The summary of a variant as JSON. */
export const variantRecord = (variant: VariantSummary) => ({
  variant: variant.variant,
  cases: variant.cases,
  attempts: variant.attempts,
  passed: variant.passed,
  pass_rate: variant.passRate,
  interval: variant.interval,
  score: variant.score,
  scorers: variant.scorers,
  cost_usd: variant.costUsd,
  attempts_without_cost: variant.attemptsWithoutCost,
  tokens: variant.tokens,
  median_ms: variant.medianMillis,
  slow_ms: variant.slowMillis,
  worst: variant.worst.map(({ attempts, caseId, caseName, passed, reasons, score }) => ({
    case_id: caseId,
    name: caseName,
    attempts,
    passed,
    score,
    reasons
  }))
})

/** The comparison of two variants as plain JSON, for a file or a dashboard. */
export const comparisonRecord = (comparison: Comparison) => ({
  before: comparison.before,
  after: comparison.after,
  judgement: comparison.judgement,
  words: comparison.words,
  cases: comparison.cases,
  unpaired: comparison.unpaired,
  probability: comparison.probability,
  better: comparison.better.map(comparedRecord),
  worse: comparison.worse.map(comparedRecord),
  pass_rate: comparison.passRate,
  score: comparison.score,
  cost_usd: comparison.costUsd,
  ms: comparison.millis
})

const comparedRecord = ({ after, before, caseId, caseName, reasons }: Comparison["better"][number]) => ({
  case_id: caseId,
  name: caseName,
  before,
  after,
  reasons
})

/** The result of one attempt as JSON. */
export const resultRecord = (result: CaseResult) => ({
  case_id: result.caseId,
  name: result.caseName,
  tags: result.tags,
  variant: result.variant,
  repeat: result.repeat,
  passed: result.passed,
  scores: result.scores,
  error: result.error,
  content: result.content,
  model_provider: result.provider,
  model_name: result.model,
  assistant_version: result.assistantVersion,
  prompt_hash: result.promptHash,
  cost_usd: result.costUsd,
  ms: result.millis,
  tokens: result.tokens
})

// ------ Markdown

/** So many cases of a list are shown; the rest is counted. */
const mostCases = 20

/** The gate as tables for a pull request. */
export const toMarkdown = ({ comparisons, passed, reasons, variants }: Gate): string =>
  [
    `## Evaluation: ${passed ? "passed" : "not passed"}`,
    ...(reasons.length === 0 ? [] : [reasons.map((reason) => `- ${escapeMarkdown(reason)}`).join("\n")]),
    [
      row("variant", "passed", "95 % interval", "score", "cost", "median time", "slowest 5 %"),
      row("---", "---", "---", "---", "---", "---", "---"),
      ...variants.map((each) =>
        row(
          each.variant,
          passedInWords(each),
          `${inPercent(each.interval.low)} to ${inPercent(each.interval.high)}`,
          each.score?.toFixed(2) ?? "",
          costInWords(each),
          `${Math.round(each.medianMillis)} ms`,
          `${Math.round(each.slowMillis)} ms`
        )
      )
    ].join("\n"),
    ...comparisons.map(comparisonInMarkdown),
    ...variants.filter(({ worst }) => worst.length > 0).map(worstInMarkdown)
  ]
    .join("\n\n")
    .concat("\n")

const costInWords = ({ attemptsWithoutCost, costUsd }: VariantSummary): string => {
  if (costUsd === null) return "not known"
  const missing = attemptsWithoutCost === 0 ? "" : ` (${attemptsWithoutCost} not known)`
  return `${costUsd.toFixed(4)} USD${missing}`
}

const comparisonInMarkdown = (comparison: Comparison): string =>
  [
    escapeMarkdown(comparison.words),
    `Pass rate ${differenceInWords(comparison.passRate, 3)}, cost ${differenceInWords(comparison.costUsd, 5, " USD")}, time ${differenceInWords(comparison.millis, 0, " ms")} for a case.`,
    ...listed(
      "Worse",
      comparison.worse.map(({ caseName, reasons }) => ({ caseName, reasons }))
    )
  ].join("\n\n")

const worstInMarkdown = ({ variant, worst }: VariantSummary): string =>
  [
    `<details><summary>Not passed by ${escapeHtml(variant)}: ${worst.length}</summary>`,
    ...listed(null, worst),
    "</details>"
  ].join("\n\n")

const listed = (
  title: string | null,
  cases: ReadonlyArray<Pick<CaseSummary, "caseName" | "reasons">>
): ReadonlyArray<string> => {
  if (cases.length === 0) return []
  const shown = cases
    .slice(0, mostCases)
    .map(
      ({ caseName, reasons }) => `- **${escapeMarkdown(caseName)}**: ${escapeMarkdown(shorten(reasons[0] ?? "", 200))}`
    )
  const rest = cases.length > mostCases ? [`- and ${cases.length - mostCases} more`] : []
  return [...(title === null ? [] : [`${title}:`]), [...shown, ...rest].join("\n")]
}

const row = (...cells: ReadonlyArray<string>): string => `| ${cells.map(escapeMarkdown).join(" | ")} |`

/** Of a name between tags, where Markdown does not count. */
const escapeHtml = (text: string): string => escapeXml(text.replaceAll(/\s+/gu, " ")).replaceAll("@", "@\u200B")

/** What a model wrote must not end a cell, begin a tag, show a picture or mention a person. */
const escapeMarkdown = (text: string): string =>
  text
    .replaceAll(/\s+/gu, " ")
    .replaceAll(/\p{Cc}/gu, "\uFFFD")
    .replaceAll(/[\\`*_[\]#|!]/gu, (sign) => `\\${sign}`)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll("@", "@\u200B")

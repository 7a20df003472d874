/** One check of a real provider, the run of many under a limit of cost, and the page of what held. */
import type { Usage } from "@colloquy/core"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** A fact that does not hold, in words for the page. */
export class DoesNotHold extends Schema.TaggedError<DoesNotHold>()("DoesNotHold", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

export interface LiveCheck {
  readonly group: "conversation" | "session" | "job"
  readonly name: string
  /** US dollars that the check costs at most, generously. Counted where the provider does not report the cost. */
  readonly atMostUsd: number
  readonly timeout: Duration.Input
  /** Fails with `DoesNotHold`, or with the provider's error; succeeds with what was used, as far as it is known. */
  readonly run: Effect.Effect<Usage | null, Error>
}

export interface LiveResult {
  readonly group: LiveCheck["group"]
  readonly name: string
  readonly outcome: "held" | "failed" | "skipped"
  readonly note: string
  readonly millis: number
  /** Null: the provider did not report it; then `atMostUsd` was counted. */
  readonly costUsd: number | null
}

export interface LiveRun {
  readonly results: ReadonlyArray<LiveResult>
  /** Reported costs, and for the others their maximum. */
  readonly countedUsd: number
}

/** Runs the checks one after the other. A check that might exceed the limit is skipped. */
export const runChecks = (checks: ReadonlyArray<LiveCheck>, limitUsd: number): Effect.Effect<LiveRun> =>
  Effect.gen(function* () {
    const results: Array<LiveResult> = []
    let countedUsd = 0
    for (const check of checks) {
      const { group, name } = check
      if (countedUsd + check.atMostUsd > limitUsd) {
        const note = `It may cost $${check.atMostUsd}, and $${countedUsd.toFixed(4)} of $${limitUsd} are counted already.`
        results.push({ group, name, outcome: "skipped", note, millis: 0, costUsd: null })
        continue
      }
      const startedAt = yield* Clock.currentTimeMillis
      const { costUsd, note, outcome } = yield* checkOutcome(check)
      const millis = (yield* Clock.currentTimeMillis) - startedAt
      countedUsd += costUsd ?? check.atMostUsd
      results.push({ group, name, outcome, note, millis, costUsd })
    }
    return { results, countedUsd }
  })

const checkOutcome = (check: LiveCheck): Effect.Effect<Pick<LiveResult, "outcome" | "note" | "costUsd">> =>
  check.run.pipe(
    Effect.timeoutOrElse({
      duration: check.timeout,
      orElse: () =>
        Effect.fail(
          new DoesNotHold({
            reason: `It did not end within ${Duration.format(Duration.fromInputUnsafe(check.timeout))}.`
          })
        )
    }),
    Effect.match({
      onSuccess: (usage) => ({ outcome: "held" as const, note: "", costUsd: usage?.costUsd ?? null }),
      onFailure: ({ message }) => ({ outcome: "failed" as const, note: message, costUsd: null })
    })
  )

export interface LivePage {
  readonly vendor: string
  readonly at: Date
  readonly models: { readonly [purpose: string]: string }
  readonly limitUsd: number
  readonly run: LiveRun
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll(/\s+/gu, " ").trim()

/** The page as Markdown. It contains no key: the notes are the kernel's own sentences. */
export const pageText = ({ at, limitUsd, models, run, vendor }: LivePage): string => {
  const count = (outcome: LiveResult["outcome"]) => run.results.filter((each) => each.outcome === outcome).length
  const rows = run.results.map(({ costUsd, group, millis, name, note, outcome }) => [
    group,
    cell(name),
    outcome,
    `${(millis / 1000).toFixed(1)} s`,
    costUsd === null ? "–" : `$${costUsd.toFixed(6)}`,
    cell(note)
  ])
  return [
    `# ${vendor}, ${at.toISOString().slice(0, 16).replace("T", " ")} UTC`,
    "",
    `${count("held")} held, ${count("failed")} failed, ${count("skipped")} skipped. Counted cost: $${run.countedUsd.toFixed(4)} of at most $${limitUsd} (reported costs, and for checks without one the most that they may cost).`,
    "",
    `Models: ${Object.entries(models)
      .map(([purpose, name]) => `${purpose} \`${name}\``)
      .join(", ")}.`,
    "",
    "| what | check | outcome | time | cost | note |",
    "|---|---|---|---|---|---|",
    ...rows.map((row) => `| ${row.join(" | ")} |`),
    ""
  ].join("\n")
}

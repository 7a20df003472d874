/**
 * One experiment, live while it runs: each variant in figures, two of them compared in words, and the matrix of cases by variant, the worst
 * first. A line of it opens the answers of both variants beside each other.
 */
import { count, duration, money, percent, plural } from "../lib/format.ts"
import { mayAct } from "../lib/host.ts"
import { type Cell, type MatrixRow, matrixRows } from "../lib/matrix.ts"
import { go, href, replace, useTitle } from "../state/address.ts"
import { pressing, tell } from "../state/studio.ts"
import { takeWanted } from "../state/wanted.ts"
import * as tests from "../state/tests.ts"
import { classes, html, useEffect, useMemo, useState, type View } from "../view.ts"
import type { Comparison, Experiment, Interval, VariantSummary } from "../wire.ts"
import { confirm } from "./Confirm.ts"
import { experimentName, stateWords } from "./ExperimentsPane.ts"
import { IconButton } from "./Icon.ts"
import { Judges } from "./Reliability.ts"
import { SideBySide } from "./SideBySide.ts"

interface ExperimentViewProps {
  readonly id: string
  /** The case that is open, and the names of both variants that are compared. */
  readonly path: ReadonlyArray<string>
}

export const ExperimentView = ({ id, path: [open = "-", before, after] }: ExperimentViewProps): View => {
  /** Increases when the experiment is continued, so that it is followed again. */
  const [times, follow] = useState(0)
  useEffect(() => {
    const stop = new AbortController()
    tests.followExperiment(id, stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) tell(error)
    })
    return () => stop.abort()
  }, [id, times])
  const shown = tests.shown.value
  const rows = useMemo(() => matrixRows(shown?.results ?? []), [shown?.results])
  const name = shown === null ? "Experiment" : experimentName(shown.experiment)
  useTitle(`${name} · Tests`)
  if (shown === null || shown.experiment.experiment_id !== id)
    return html`<p class="hint" role="status">The experiment is being read.</p>`
  const { experiment, judges, summaries } = shown
  const names = experiment.variants.map((each) => each.name)
  const pair: Pair = { before: before ?? names[0] ?? "", after: after ?? names[1] ?? names[0] ?? "" }
  const address = (caseId: string, { after: b, before: a }: Pair) => ["tests", "experiments", id, caseId, a, b]
  const row = rows.find(({ caseId }) => caseId === open)
  return html`<section class="experiment" aria-label="Experiment">
    <${Head} experiment=${experiment} onResume=${() => follow(times + 1)} />
    <${Variants} summaries=${summaries} names=${names} />
    ${
      names.length > 1 &&
      html`<${Compared} id=${id} done=${experiment.attempts.done} names=${names} pair=${pair} onPair=${(next: Pair) => replace(...address(open, next))} />`
    }
    <${Matrix} rows=${rows} names=${names} open=${open} link=${(caseId: string) => href(...address(caseId, pair))} />
    ${row !== undefined && html`<${SideBySide} key=${row.caseId} id=${id} row=${row} before=${pair.before} after=${pair.after} onClose=${() => go(...address("-", pair))} />`}
    <${Judges} judges=${judges} />
  </section>`
}

interface HeadProps {
  readonly experiment: Experiment
  readonly onResume: () => void
}

const Head = ({ experiment, onResume }: HeadProps): View => {
  const { attempts, budget_usd, cases, cost_usd, experiment_id: id, reason, repeats, status, tools } = experiment
  const cancel = async () => {
    const next = await tests.cancelExperiment(id)
    const now = tests.shown.value
    if (now?.experiment.experiment_id === id) tests.shown.value = { ...now, experiment: next }
  }
  const resume = async () => {
    await tests.resumeExperiment(id)
    onResume()
  }
  const remove = () =>
    confirm({
      title: "Delete this experiment?",
      text: "Its results go with it. The cases stay.",
      action: "Delete experiment",
      run: async () => {
        await tests.removeExperiment(id)
        go("tests", "experiments")
      }
    })
  const facts = [
    plural(cases, "case"),
    repeats === 1 ? null : `each ${plural(repeats, "time")}`,
    tools === "live" ? "tools run" : "tools answer from the record",
    `${money(cost_usd)}${budget_usd === null ? "" : ` of ${money(budget_usd)}`}`
  ].filter(Boolean)
  return html`<div class="row">
      <h3 dir="auto">${experimentName(experiment)}</h3>
      <span class="actions">
        ${mayAct() && (status === "cancelled" || status === "stopped") && html`<button type="button" onClick=${pressing(resume)}>Go on</button>`}
        <a href=${href("tests", "experiments")}>All experiments</a>
        ${mayAct() && (status === "running" ? html`<button type="button" onClick=${pressing(cancel)}>Cancel</button>` : html`<${IconButton} icon="trash" label="Delete experiment" onClick=${remove} />`)}
      </span>
    </div>
    <div class="progress">
      <progress max=${Math.max(1, attempts.total)} value=${attempts.done} aria-label="Attempts with a result"></progress>
      <p role="status">
        <span class="badge soft">${stateWords[status]}</span> ${count(attempts.done)} of ${plural(attempts.total, "attempt")}${reason !== null && `: ${reason}`}
      </p>
      <p class="detail">${facts.join(" · ")}</p>
    </div>`
}

const range = ({ high, low }: Interval, write: (value: number) => string): string => `${write(low)} to ${write(high)}`

/** The share that passed, with its 95 % interval. */
const Variants = ({
  names,
  summaries
}: {
  readonly names: ReadonlyArray<string>
  readonly summaries: ReadonlyArray<VariantSummary>
}): View =>
  html`<ul class="figures-cards" aria-label="Variants">
    ${names.map((name) => {
      const summary = summaries.find(({ variant }) => variant === name)
      return html`<li class="sheet" key=${name}>
        <h4 dir="auto">${name}</h4>
        ${
          summary === undefined
            ? html`<p class="hint">No result yet.</p>`
            : html`<p class="big">${percent(summary.pass_rate)} <span class="detail">passed, ${range(summary.interval, percent)}</span></p>
                <div class="interval" aria-hidden="true">
                  <span class="span" style=${{ insetInlineStart: `${summary.interval.low * 100}%`, width: `${(summary.interval.high - summary.interval.low) * 100}%` }}></span>
                  <span class="point" style=${{ insetInlineStart: `${summary.pass_rate * 100}%` }}></span>
                </div>
                <dl class="facts">
                  <div><dt>Attempts</dt><dd>${count(summary.passed)} of ${count(summary.attempts)}</dd></div>
                  ${summary.score !== null && html`<div><dt>Mean score</dt><dd>${summary.score.toFixed(2)}</dd></div>`}
                  <div><dt>Cost</dt><dd>${summary.cost_usd === null ? "not known" : money(summary.cost_usd)}</dd></div>
                  <div><dt>Half within</dt><dd>${duration(summary.median_ms)}</dd></div>
                  <div><dt>95 % within</dt><dd>${duration(summary.slow_ms)}</dd></div>
                </dl>`
        }
      </li>`
    })}
  </ul>`

interface Pair {
  readonly before: string
  readonly after: string
}

interface ComparedProps {
  readonly id: string
  /** The number of attempts with a result. When it changes, the comparison is read again. */
  readonly done: number
  readonly names: ReadonlyArray<string>
  readonly pair: Pair
  readonly onPair: (pair: Pair) => void
}

const signed = (write: (value: number) => string) => (value: number) =>
  `${value < 0 ? "−" : "+"}${write(Math.abs(value))}`

const Compared = ({ done, id, names, onPair, pair }: ComparedProps): View => {
  const [comparison, setComparison] = useState<Comparison | null>(null)
  useEffect(() => {
    if (done > 0 && pair.before !== pair.after)
      return takeWanted(tests.compareVariants(id, pair.before, pair.after), setComparison)
    setComparison(null)
    return undefined
  }, [id, done, pair.before, pair.after])
  const differences = [
    ["Passed", comparison?.pass_rate, signed(percent)],
    ["Mean score", comparison?.score, signed((value) => value.toFixed(2))],
    ["Cost of a case", comparison?.cost_usd, signed(money)],
    ["Time of a case", comparison?.ms, signed(duration)]
  ] as const
  return html`<section class="sheet" aria-label="Comparison">
    <div class="fields">
      <${VariantChoice} label="Before" names=${names} value=${pair.before} onChange=${(before: string) => onPair({ ...pair, before })} />
      <${VariantChoice} label="After" names=${names} value=${pair.after} onChange=${(after: string) => onPair({ ...pair, after })} />
    </div>
    ${pair.before === pair.after && html`<p class="hint">Choose two variants.</p>`}
    ${
      comparison !== null &&
      html`<p class=${classes("words", comparison.judgement === "worse" && "failed", comparison.judgement === "better" && "passed")} role="status">${comparison.words}</p>
        <dl class="facts">
          ${differences.map(
            ([word, difference, write]) =>
              difference !== null &&
              difference !== undefined &&
              html`<div><dt>${word}</dt><dd>${write(difference.mean)} <span class="detail">${range(difference.interval, write)}</span></dd></div>`
          )}
        </dl>`
    }
  </section>`
}

interface VariantChoiceProps {
  readonly label: string
  readonly names: ReadonlyArray<string>
  readonly value: string
  readonly onChange: (name: string) => void
}

const VariantChoice = ({ label, names, onChange, value }: VariantChoiceProps): View =>
  html`<label>
    ${label}
    <select
      value=${value}
      onChange=${(event: Event) => {
        if (event.currentTarget instanceof HTMLSelectElement) onChange(event.currentTarget.value)
      }}
    >
      ${names.map((name) => html`<option value=${name}>${name}</option>`)}
    </select>
  </label>`

/** The number of lines that are drawn at once; more are drawn on demand. */
const pageSize = 100

interface MatrixProps {
  readonly rows: ReadonlyArray<MatrixRow>
  readonly names: ReadonlyArray<string>
  readonly open: string
  readonly link: (caseId: string) => string
}

const Matrix = ({ link, names, open, rows }: MatrixProps): View => {
  const [limit, setLimit] = useState(pageSize)
  if (rows.length === 0) return null
  return html`<div class="matrix" tabindex="0" role="group" aria-label="Cases by variant">
      <table>
        <caption class="unseen">Cases by variant, the worst first</caption>
        <thead>
          <tr><th scope="col">Case, the worst first</th>${names.map((name) => html`<th scope="col" dir="auto">${name}</th>`)}</tr>
        </thead>
        <tbody>
          ${rows.slice(0, limit).map(
            (row) =>
              html`<tr key=${row.caseId} class=${row.caseId === open ? "current" : ""}>
                <th scope="row" dir="auto"><a href=${link(row.caseId)} aria-current=${row.caseId === open ? "true" : undefined}>${row.name}</a></th>
                ${names.map((name) => html`<${MatrixCell} key=${name} cell=${row.cells.get(name)} />`)}
              </tr>`
          )}
        </tbody>
      </table>
    </div>
    ${rows.length > limit && html`<button type="button" onClick=${() => setLimit(limit + pageSize)}>Show more</button>`}`
}

const MatrixCell = ({ cell }: { readonly cell: Cell | undefined }): View => {
  if (cell === undefined) return html`<td class="waits">waits</td>`
  const { attempts, costUsd, millis, passed } = cell
  const isPassed = passed === attempts.length
  const word = isPassed ? "passed" : passed === 0 ? "failed" : "partly"
  return html`<td class=${word}>
    <b>${word}</b>${attempts.length > 1 && ` ${passed} of ${attempts.length}`}
    <span class="detail">${[duration(millis), costUsd === null ? null : money(costUsd)].filter(Boolean).join(" · ")}</span>
  </td>`
}

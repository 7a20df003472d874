/** One case as two variants answered it, beside each other: the words that differ, the scores with their reasons, tools, cost and time. */
import { duration, money, plural } from "../lib/format.ts"
import type { MatrixRow } from "../lib/matrix.ts"
import { readToldOfJudges, type Truth } from "../state/outcomes.ts"
import * as tests from "../state/tests.ts"
import { classes, html, useEffect, useRef, useState, type View } from "../view.ts"
import type { AttemptResult, EvalCase } from "../wire.ts"
import { IconButton } from "./Icon.ts"
import { Markdown } from "./Markdown.ts"
import { Outcome } from "./Outcome.ts"
import { WordDiff } from "./WordDiff.ts"

interface SideBySideProps {
  /** The experiment. */
  readonly id: string
  readonly row: MatrixRow
  readonly before: string
  readonly after: string
  readonly onClose: () => void
}

export const SideBySide = ({ after, before, id, onClose, row }: SideBySideProps): View => {
  const [asked, setAsked] = useState<EvalCase | null>(null)
  const [repeat, setRepeat] = useState(0)
  const [hasDiff, setDiff] = useState(true)
  const frame = useRef<HTMLElement>(null)
  useEffect(() => {
    // The case may have been deleted since; its results remain.
    tests.readCase(row.caseId).then(setAsked, () => {})
    frame.current?.focus({ preventScroll: true })
    frame.current?.scrollIntoView({ block: "nearest" })
  }, [])
  const attempt = (variant: string) => row.cells.get(variant)?.attempts.find((each) => each.repeat === repeat)
  const [left, right] = [attempt(before), attempt(after)]
  const repeats = Math.max(...[...row.cells.values()].map(({ attempts }) => attempts.length))
  return html`<section class="sheet side-by-side" aria-label="Answers to ${row.name}" tabindex="-1" ref=${frame}>
    <div class="row">
      <h3 dir="auto">${row.name}</h3>
      <${IconButton} icon="close" label="Close the answers" onClick=${onClose} />
    </div>
    ${asked !== null && html`<p dir="auto"><b>Question:</b> ${asked.question}</p>`}
    <div class="row">
      <label class="check"><input type="checkbox" checked=${hasDiff} onChange=${() => setDiff(!hasDiff)} /> Differences word by word</label>
      ${
        repeats > 1 &&
        html`<label class="chooser">
          Try
          <select
            value=${repeat}
            onChange=${(event: Event) => {
              if (event.currentTarget instanceof HTMLSelectElement) setRepeat(Number(event.currentTarget.value))
            }}
          >
            ${Array.from({ length: repeats }, (_, index) => html`<option value=${index}>${index + 1} of ${repeats}</option>`)}
          </select>
        </label>`
      }
    </div>
    <div class="answers">
      <${Side} id=${id} variant=${before} attempt=${left} base=${undefined} />
      ${after !== before && html`<${Side} id=${id} variant=${after} attempt=${right} base=${hasDiff ? left : undefined} />`}
    </div>
  </section>`
}

interface SideProps {
  readonly id: string
  readonly variant: string
  readonly attempt: AttemptResult | undefined
  /** The answer with which this one is compared. */
  readonly base: AttemptResult | undefined
}

const nothingTold: ReadonlyMap<number, Truth> = new Map()

const Side = ({ attempt, base, id, variant }: SideProps): View => {
  const [told, setTold] = useState(nothingTold)
  const judged = attempt?.scores.some(({ scorer }) => scorer === "judge") === true ? attempt.number : null
  useEffect(() => {
    setTold(nothingTold)
    let isShown = true
    if (judged !== null)
      readToldOfJudges(id, judged).then(
        (read) => {
          if (isShown) setTold(read)
        },
        () => {}
      )
    return () => {
      isShown = false
    }
  }, [id, judged])
  if (attempt === undefined)
    return html`<article aria-label=${variant}><h4 dir="auto">${variant}</h4><p class="hint">No result yet.</p></article>`
  const { content, cost_usd, error, model_name, ms, passed, scores, tokens, tool_calls } = attempt
  return html`<article aria-label=${variant}>
    <div class="row">
      <h4 dir="auto">${variant}</h4>
      <b class=${passed ? "passed" : "failed"}>${passed ? "passed" : "failed"}</b>
    </div>
    ${error !== null && html`<p class="problem">${error}</p>`}
    ${tool_calls.map(
      ({ arguments: given, name, result }, index) =>
        html`<p class="detail" key=${index}><code>${name}(${given})</code>${result !== null && html` → <code>${result}</code>`}</p>`
    )}
    ${base === undefined ? html`<div class="answered text" dir="auto"><${Markdown} text=${content} /></div>` : html`<${WordDiff} before=${base.content} after=${content} />`}
    <ul class="scores" aria-label="Scores of ${variant}">
      ${scores.map(
        ({ detail, expected, passed: isGood, reason, scorer, value }, index) =>
          html`<li key=${index} class=${classes(isGood ? "passed" : "failed")}>
            <b>${isGood ? "passed" : "failed"}</b> ${expected} <span class="detail">${value === 0 || value === 1 ? "" : `${value.toFixed(2)}, `}${reason}</span>
            ${
              scorer === "judge" &&
              detail?.answers?.judge !== undefined &&
              html`<${Outcome}
                key=${attempt.number}
                name="${expected}, ${variant}"
                answer=${detail.answers.judge}
                told=${told.get(index) ?? null}
                onTell=${(truth: Truth) => tests.tellOutcome(id, { number: attempt.number, score: index }, truth)}
              />`
            }
          </li>`
      )}
    </ul>
    <p class="detail">
      ${[model_name, duration(ms), plural(tokens, "token"), cost_usd === null ? "cost not known" : money(cost_usd)].filter(Boolean).join(" · ")}
    </p>
  </article>`
}

/** How often answers of each probability came true, as a table with the interval of each share, and the judges for which this is known. */
import { percent, plural } from "../lib/format.ts"
import { html, type View } from "../view.ts"
import type { Calibration, Judge } from "../wire.ts"

export const Reliability = ({
  calibration,
  name
}: {
  readonly calibration: Calibration
  readonly name: string
}): View => {
  const { brier_score, calibration_error, reliability } = calibration
  const bins = reliability.flatMap(({ observed, predicted, ...each }) =>
    predicted === null || observed === null ? [] : [{ ...each, predicted, observed }]
  )
  return html`<table class="reliability">
      <caption class="unseen">What was said of ${name}, and what came true</caption>
      <thead><tr><th scope="col">Said</th><th scope="col">Came true</th><th scope="col">Cases</th></tr></thead>
      <tbody>
        ${bins.map(
          (bin) =>
            html`<tr key=${bin.from}>
              <td>${percent(bin.predicted)}</td>
              <td>
                <span class="interval" aria-hidden="true">
                  ${bin.interval !== null && html`<span class="span" style=${{ insetInlineStart: `${bin.interval.low * 100}%`, width: `${(bin.interval.high - bin.interval.low) * 100}%` }}></span>`}
                  <span class="mark" style=${{ insetInlineStart: `${bin.predicted * 100}%` }}></span>
                  <span class="point" style=${{ insetInlineStart: `${bin.observed * 100}%` }}></span>
                </span>
                ${percent(bin.observed)}
              </td>
              <td>${bin.cases}</td>
            </tr>`
        )}
      </tbody>
    </table>
    <p class="detail">Error of calibration ${percent(calibration_error)}, Brier score ${brier_score.toFixed(3)}</p>`
}

/** The reliability of each judge. */
export const Judges = ({ judges }: { readonly judges: ReadonlyArray<Judge> }): View => {
  if (judges.length === 0) return null
  return html`<section class="pane" aria-label="Judges">
    <h3>How far the judges can be believed</h3>
    <ul class="cards">
      ${judges.map(
        ({ expected, feedback, outcomes, question_set }) =>
          html`<li class="sheet" key=${`${question_set} ${expected}`}>
            <h4 dir="auto">${expected}</h4>
            ${feedback === null && outcomes === null && html`<p class="hint">Nobody has said yet what is true. There are no thumbs on turns that it judged, and no outcomes: open a case of an experiment, and say under its score what is true.</p>`}
            ${feedback !== null && html`<p>Against ${plural(feedback.cases, "thumb")} of users</p><${Reliability} calibration=${feedback} name=${expected} />`}
            ${outcomes !== null && html`<p>Against ${plural(outcomes.cases, "outcome")} that persons told</p><${Reliability} calibration=${outcomes} name=${expected} />`}
          </li>`
      )}
    </ul>
  </section>`
}

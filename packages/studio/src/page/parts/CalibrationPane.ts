/**
 * The reliability of typed answers: for each question, how often its answer was right, and how often answers of each probability came true.
 */
import { percent, plural } from "../lib/format.ts"
import { mayAct } from "../lib/host.ts"
import { href } from "../state/address.ts"
import { assistant as current, assistants, can } from "../state/studio.ts"
import { takeWanted } from "../state/wanted.ts"
import * as tests from "../state/tests.ts"
import { html, useEffect, useState, type View } from "../view.ts"
import type { QuestionReport } from "../wire.ts"
import { Icon } from "./Icon.ts"
import { Reliability } from "./Reliability.ts"

export const CalibrationPane = ({ path: [id] }: { readonly path: ReadonlyArray<string> }): View => {
  const chosen = id ?? current.value?.assistant_id ?? ""
  const [report, setReport] = useState<tests.AnswersReport | null>(null)
  useEffect(() => {
    setReport(null)
    return chosen === "" || !can.value.typed_answers ? undefined : takeWanted(tests.readReport(chosen), setReport)
  }, [chosen])
  if (!can.value.typed_answers)
    return html`<div class="nothing"><${Icon} name="gauge" /><p>This server answers no typed questions.</p></div>`
  return html`<section class="pane" aria-label="Calibration">
    <div class="row">
      <p class="hint">A probability of 80 % should come true in 80 of 100 cases.${mayAct() && " Say under a typed answer in Talk what turned out to be true."}</p>
      <label class="chooser">
        Assistant
        <select
          value=${chosen}
          onChange=${(event: Event) => {
            if (event.currentTarget instanceof HTMLSelectElement)
              location.hash = href("tests", "calibration", event.currentTarget.value)
          }}
        >
          ${assistants.value?.map(({ assistant_id, name }) => html`<option value=${assistant_id}>${name}</option>`)}
        </select>
      </label>
    </div>
    ${report?.cases === 0 && html`<div class="nothing"><${Icon} name="gauge" /><p>No outcome is known yet.</p></div>`}
    <ul class="cards" aria-label="Questions">
      ${report?.question_sets.flatMap(({ question_set, questions }) => questions.map((each) => html`<${Question} key=${`${question_set} ${each.question}`} report=${each} />`))}
    </ul>
  </section>`
}

const Question = ({ report }: { readonly report: QuestionReport }): View => {
  const { accuracy, accuracy_interval: interval, cases, question } = report
  return html`<li class="sheet">
    <h3 dir="auto">${question}</h3>
    <p>Right in <b>${percent(accuracy)}</b> of ${plural(cases, "case")} <span class="detail">${percent(interval.low)} to ${percent(interval.high)}</span></p>
    <${Reliability} calibration=${report} name=${question} />
  </li>`
}

/** All experiments, with state, progress and cost. A line opens one. */
import { count, money, plural, shortDate, wholeDate } from "../lib/format.ts"
import { mayAct } from "../lib/host.ts"
import { href } from "../state/address.ts"
import { tell } from "../state/studio.ts"
import * as tests from "../state/tests.ts"
import { html, useEffect, useState, type View } from "../view.ts"
import type { Experiment } from "../wire.ts"
import { Icon } from "./Icon.ts"

export const stateWords: Readonly<Record<Experiment["status"], string>> = {
  running: "runs",
  completed: "done",
  stopped: "stopped",
  cancelled: "cancelled"
}

export const experimentName = ({ created_at, name }: Experiment): string =>
  name ?? `Experiment of ${wholeDate(created_at)}`

export const ExperimentsPane = (): View => {
  const [list, setList] = useState<ReadonlyArray<Experiment> | null>(null)
  const isRunning = list?.some(({ status }) => status === "running") === true
  useEffect(() => {
    const load = () => tests.readExperiments().then(setList, tell)
    void load()
    if (!isRunning) return
    const timer = setInterval(() => void load(), 1500)
    return () => clearInterval(timer)
  }, [isRunning])
  return html`<section class="pane" aria-label="Experiments">
    <div class="row">
      <p class="hint">An experiment answers cases by two or more variants and scores the answers.</p>
      ${mayAct() && html`<a class="button primary" href=${href("tests", "experiments", "new")}>New experiment</a>`}
    </div>
    ${list?.length === 0 && html`<div class="nothing"><${Icon} name="flask" /><p>Nothing was tried yet.</p></div>`}
    <ul class="cards" aria-label="Experiments">
      ${list?.map(
        (each) =>
          html`<li class="sheet" key=${each.experiment_id}>
            <div class="row">
              <h3 dir="auto"><a href=${href("tests", "experiments", each.experiment_id)}>${experimentName(each)}</a></h3>
              <time class="detail" datetime=${each.created_at} title=${wholeDate(each.created_at)}>${shortDate(each.created_at)}</time>
            </div>
            <p class="detail">
              <span class="badge soft">${stateWords[each.status]}</span> ${count(each.attempts.done)} of ${plural(each.attempts.total, "attempt")},
              ${" "}${plural(each.cases, "case")}, ${each.variants.map(({ name }) => name).join(", ")}, ${money(each.cost_usd)}
            </p>
          </li>`
      )}
    </ul>
  </section>`
}

/** Scores of live turns, by version of the assistant and by day, and the judges that gave them. */
import { expectationWords } from "../lib/expectations.ts"
import { count, duration, money, percent } from "../lib/format.ts"
import { assistants, tell } from "../state/studio.ts"
import * as tests from "../state/tests.ts"
import { html, useEffect, useState, type View } from "../view.ts"
import type { OnlineGroup, OnlineReport } from "../wire.ts"
import { Icon } from "./Icon.ts"
import { Judges } from "./Reliability.ts"

export const OnlinePane = (): View => {
  const [report, setReport] = useState<OnlineReport | null>(null)
  useEffect(() => {
    tests.readOnline().then(setReport, tell)
  }, [])
  if (report === null) return html`<p class="hint" role="status">It is being read.</p>`
  const { days, expectations, from, is_partial, judges, share, to, versions } = report
  return html`<section class="pane" aria-label="Online">
    ${share > 0 && html`<p class="hint">${percent(share)} of all turns are scored when they have ended: ${expectations.map(expectationWords).join("; ")}.</p>`}
    ${
      versions.length === 0
        ? html`<div class="nothing"><${Icon} name="gauge" /><p>${share > 0 ? `No turn was scored from ${from} to ${to}.` : html`Turns are not scored when they have ended. <code>ONLINE_SCORING</code> of the server chooses which ones are, and by what.`}</p></div>`
        : html`<${Groups} title="By version" groups=${versions} /><${Groups} title="By day" groups=${days} />`
    }
    ${is_partial && html`<p class="hint">There are more turns; these are the newest.</p>`}
    <${Judges} judges=${judges} />
  </section>`
}

interface GroupsProps {
  readonly title: string
  readonly groups: ReadonlyArray<OnlineGroup & { readonly day?: string }>
}

const groupName = ({ assistant_id, assistant_version }: OnlineGroup): string => {
  const name = assistants.value?.find((each) => each.assistant_id === assistant_id)?.name ?? "An assistant that is gone"
  return assistant_version === null ? name : `${name}, version ${assistant_version}`
}

const Groups = ({ groups, title }: GroupsProps): View =>
  html`<div class="matrix" tabindex="0" role="group" aria-label=${title}>
    <table>
      <caption class="unseen">${title}</caption>
      <thead>
        <tr><th scope="col">${title}</th><th scope="col">Passed</th><th scope="col">Turns</th><th scope="col">Mean score</th><th scope="col">Cost</th><th scope="col">Half within</th></tr>
      </thead>
      <tbody>
        ${groups.map(
          (group, index) =>
            html`<tr key=${index}>
              <th scope="row" dir="auto">${group.day !== undefined && html`<time datetime=${group.day}>${group.day}</time> `}${groupName(group)}</th>
              <td>
                ${group.pass_rate === null ? "–" : html`<b>${percent(group.pass_rate)}</b>`}
                ${group.interval !== null && html`<span class="detail">${percent(group.interval.low)} to ${percent(group.interval.high)}</span>`}
              </td>
              <td>${count(group.turns)}${group.unscored > 0 && html`<span class="detail">${count(group.unscored)} not scored</span>`}</td>
              <td>${group.score === null ? "–" : group.score.toFixed(2)}</td>
              <td>${group.cost_usd === null ? "not known" : money(group.cost_usd)}</td>
              <td>${duration(group.median_ms)}</td>
            </tr>`
        )}
      </tbody>
    </table>
  </div>`

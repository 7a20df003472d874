/** A turn as a waterfall: each step with its time, tokens and cost, in order. */
import { count, duration, money } from "../lib/format.ts"
import { type Bar, makeChart } from "../lib/waterfall.ts"
import { chooseStep, type InspectedTurn, step as chosen } from "../state/inspector.ts"
import { classes, html, useEffect, useRef, type View } from "../view.ts"
import { Remembered } from "./Remembered.ts"
import type { RunStep } from "../wire.ts"

const words: Readonly<Record<RunStep["kind"], string>> = {
  queue: "Waited for the thread",
  listen: "Listen",
  recall: "Recall",
  model: "Model",
  tool: "Tool",
  client: "Your results",
  settle: "Settle"
}

const tokensText = ({ input_tokens, output_tokens }: RunStep): string | null =>
  input_tokens === null ? null : `${count(input_tokens)} in, ${count(output_tokens ?? 0)} out`

export const Waterfall = ({ turn }: { readonly turn: InspectedTurn }): View => {
  const { inspection, run } = turn
  const { bars, total } = makeChart(inspection.steps, Date.now())
  return html`<section class="waterfall">
    <dl class="facts">
      <div><dt>Model</dt><dd>${run.model_provider} / ${run.model_name}</dd></div>
      <div><dt>Time</dt><dd>${duration(total)}</dd></div>
      <div><dt>Tokens</dt><dd>${count(run.input_tokens)} in, ${count(run.output_tokens)} out${run.usage_estimated ? " (counted here)" : ""}</dd></div>
      <div><dt>Cost</dt><dd>${run.cost_usd === null ? "not known" : money(run.cost_usd)}</dd></div>
      <div><dt>Status</dt><dd>${run.status.toLowerCase().replaceAll("_", " ")}</dd></div>
    </dl>
    ${run.error !== null && html`<p class="mark failed">${run.error.message}</p>`}
    <ol aria-label="Steps of the turn">
      ${bars.map((bar, index) => html`<${Step} bar=${bar} index=${index} />`)}
    </ol>
    <${Remembered} turn=${turn} />
    <${Charges} turn=${turn} />
    ${
      run.ignored_options.length > 0 &&
      html`<h3>Without effect</h3>
      <ul class="plain">
        ${run.ignored_options.map(({ because, option }) => html`<li><code>${option}</code>: ${because}</li>`)}
      </ul>`
    }
  </section>`
}

/** The chosen step stands in the address. */
const Step = ({ bar, index }: { readonly bar: Bar; readonly index: number }): View => {
  const isChosen = chosen.value === index
  const item = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (isChosen) item.current?.scrollIntoView({ block: "nearest" })
  }, [isChosen])
  const { left, length, step, width } = bar
  const facts = [tokensText(step), step.cost_usd === null ? null : money(step.cost_usd)].filter(Boolean)
  return html`<li ref=${item} class=${classes(`step step-${step.kind}`, isChosen && "chosen")}>
    <button type="button" class="quiet name" aria-pressed=${isChosen} onClick=${() => chooseStep(isChosen ? null : index)}><b>${words[step.kind]}</b>${step.name !== null && html` <span class="detail">${step.name}</span>`}</button>
    <span class="time">${length === null ? (bar.start === null ? "time not known" : "under way") : duration(length)}</span>
    <span class="track"><span style=${{ left: `${left * 100}%`, width: `${Math.max(width * 100, 0.8)}%` }}></span></span>
    ${facts.length > 0 && html`<span class="detail">${facts.join(" · ")}</span>`}
  </li>`
}

/** Costs besides the calls of the conversation's model. */
const Charges = ({ turn }: { readonly turn: InspectedTurn }): View => {
  const { charges } = turn.inspection
  if (charges.length === 0) return null
  return html`<h3>Also charged</h3>
    <ul class="plain">
      ${charges.map(
        ({ cost_usd, model_name, model_provider, purpose }) =>
          html`<li>${purpose}: ${model_provider} / ${model_name}, ${cost_usd === null ? "cost not known" : money(cost_usd)}</li>`
      )}
    </ul>`
}

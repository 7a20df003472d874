/** A turn as a film: its steps on one time scale, the conversation as it was at each instant, and the step that is chosen. */
import { momentAt, eventSteps } from "../lib/replay.ts"
import { count, duration, money } from "../lib/format.ts"
import { type Bar, type FilmStep, makeChart, shareAt } from "../lib/waterfall.ts"
import * as inspector from "../state/inspector.ts"
import type { InspectedTurn } from "../state/inspector.ts"
import { act } from "../state/studio.ts"
import { classes, html, useEffect, useMemo, useRef, useState, type View } from "../view.ts"
import type { RunInspection } from "../wire.ts"
import { FilmStrip } from "./FilmStrip.ts"
import { Moment } from "./Moment.ts"
import { Remembered } from "./Remembered.ts"
import { StepDetail, stepWords } from "./StepDetail.ts"

const tokensText = ({ input_tokens, output_tokens }: FilmStep): string | null =>
  input_tokens === null ? null : `${count(input_tokens)} in, ${count(output_tokens ?? 0)} out`

/** Another turn begins with no step chosen. */
export const Waterfall = ({ turn }: { readonly turn: InspectedTurn }): View =>
  html`<${Film} key=${turn.runId} turn=${turn} />`

const Film = ({ turn }: { readonly turn: InspectedTurn }): View => {
  const { inspection, log, run } = turn
  const { steps } = inspection
  const { bars, total } = useMemo(() => makeChart(steps, Date.now()), [steps])
  const events = useMemo(() => log.map(({ event }) => event), [log])
  const stepNumbers = useMemo(() => eventSteps(events, steps), [events, steps])
  const shares = useMemo(() => eventShares(bars, stepNumbers), [bars, stepNumbers])
  /** The position of the event up to which the turn is shown. Null: the whole turn. */
  const [position, setPosition] = useState<number | null>(null)
  const chosen = inspector.step.value
  const seek = (next: number) => {
    setPosition(next)
    const number = stepNumbers[next] ?? null
    if (number !== chosen) inspector.chooseStep(number)
  }
  const choose = (number: number | null) => {
    const last = number === null ? -1 : stepNumbers.lastIndexOf(number)
    setPosition(last === -1 ? null : last)
    inspector.chooseStep(number)
  }
  const event = position === null ? undefined : events[position]
  const bar = chosen === null ? undefined : bars[chosen]
  return html`<section class="waterfall">
    <${Facts} turn=${turn} total=${total} />
    ${run.error !== null && html`<p class="mark failed">${run.error.message}</p>`}
    <${FilmStrip}
      bars=${bars}
      shares=${shares}
      chosen=${chosen}
      head=${position === null ? null : (shares[position] ?? null)}
      firstToken=${shareAt(steps, total, turn.firstTokenAt ?? null)}
      onSeek=${seek}
      onChoose=${choose}
    />
    ${
      events.length > 1 &&
      html`<div class="scrubber">
      <input
        type="range"
        min="0"
        max=${events.length - 1}
        value=${position ?? events.length - 1}
        aria-label="Instant of the turn"
        aria-valuetext=${event === undefined ? "the end" : `event ${event.sequence}, ${event.type}`}
        onInput=${(input: Event) => {
          if (input.currentTarget instanceof HTMLInputElement) seek(Number(input.currentTarget.value))
        }}
      />
      <span class="detail">${event === undefined ? `${count(events.length)} events` : `${event.sequence} · ${event.type}`}</span>
    </div>`
    }
    ${
      position !== null &&
      html`<${Moment}
      moment=${momentAt(events, position)}
      earlier=${earlierMessages(inspection)}
      onEnd=${() => choose(null)}
    />`
    }
    ${bar !== undefined && chosen !== null && html`<${StepDetail} key=${chosen} turn=${turn} number=${chosen} stepNumbers=${stepNumbers} onClose=${() => choose(null)} />`}
    <${StepList} bars=${bars} chosen=${chosen} onChoose=${choose} />
    <${Failures} inspection=${inspection} />
    <${Remembered} turn=${turn} />
    <${Charges} turn=${turn} />
    <${Helpers} inspection=${inspection} />
    ${
      run.ignored_options.length > 0 &&
      html`<h3>Without effect</h3>
      <ul class="plain">
        ${run.ignored_options.map(({ because, option }) => html`<li><code>${option}</code>: ${because}</li>`)}
      </ul>`
    }
  </section>`
}

const earlierMessages = ({ prompts }: RunInspection): number =>
  prompts[0]?.parts.find(({ part }) => part === "history")?.messages.length ?? 0

/** The position of each event on the scale. The events of a step are spread evenly over its bar, because the log has no times. */
const eventShares = (bars: ReadonlyArray<Bar>, stepNumbers: ReadonlyArray<number>): ReadonlyArray<number> => {
  const totals = new Map<number, number>()
  for (const number of stepNumbers) totals.set(number, (totals.get(number) ?? 0) + 1)
  const seen = new Map<number, number>()
  return stepNumbers.map((number) => {
    const nth = (seen.get(number) ?? 0) + 1
    seen.set(number, nth)
    const bar = bars[number]
    return bar === undefined ? 0 : bar.left + (bar.width * nth) / (totals.get(number) ?? 1)
  })
}

const Facts = ({ total, turn: { run } }: { readonly turn: InspectedTurn; readonly total: number }): View =>
  html`<dl class="facts">
    <div><dt>Model</dt><dd>${run.model_provider} / ${run.model_name}</dd></div>
    <div><dt>Time</dt><dd>${duration(total)}</dd></div>
    <div><dt>Tokens</dt><dd>${count(run.input_tokens)} in, ${count(run.output_tokens)} out${run.usage_estimated ? " (counted here)" : ""}</dd></div>
    <div><dt>Cost</dt><dd>${run.cost_usd === null ? "not known" : money(run.cost_usd)}</dd></div>
    <div><dt>Status</dt><dd>${run.status.toLowerCase().replaceAll("_", " ")}</dd></div>
  </dl>`

interface StepListProps {
  readonly bars: ReadonlyArray<Bar>
  readonly chosen: number | null
  readonly onChoose: (number: number | null) => void
}

/** One line a step; the arrow keys go from step to step. */
export const StepList = ({ bars, chosen, onChoose }: StepListProps): View => {
  const list = useRef<HTMLOListElement>(null)
  const move = (event: KeyboardEvent) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 }
    const step = event.key === "ArrowDown" || event.key === "ArrowUp" ? steps[event.key] : 0
    if (step === 0) return
    event.preventDefault()
    const next = Math.max(0, Math.min(bars.length - 1, (chosen ?? (step > 0 ? -1 : bars.length)) + step))
    onChoose(next)
    list.current?.querySelectorAll<HTMLElement>("button")[next]?.focus()
  }
  useEffect(() => {
    // Only the list is scrolled, because the strip above it must not move while a pointer drags its head.
    const frame = list.current
    const item = chosen === null ? undefined : frame?.children[chosen]
    if (frame === null || item === undefined) return
    const [inner, outer] = [item.getBoundingClientRect(), frame.getBoundingClientRect()]
    frame.scrollTop += Math.min(0, inner.top - outer.top) + Math.max(0, inner.bottom - outer.bottom)
  }, [chosen])
  const press = ({ target }: Event) => {
    const button = target instanceof Element ? target.closest<HTMLElement>("[data-step]") : null
    if (button === null) return
    const number = Number(button.dataset["step"])
    onChoose(number === chosen ? null : number)
  }
  return html`<ol class="steps" aria-label="Steps of the turn" ref=${list} onKeyDown=${move} onClick=${press}>
    ${bars.map(
      (bar, number) =>
        html`<${Step} key=${number} bar=${bar} number=${number} isChosen=${number === chosen} isStop=${number === (chosen ?? 0)} />`
    )}
  </ol>`
}

interface StepProps {
  readonly bar: Bar
  readonly number: number
  readonly isChosen: boolean
  /** Whether the key Tab stops here. */
  readonly isStop: boolean
}

/** Drawn again only where something of it has changed, because each key changes two of hundreds. */
const Step = ({ bar, isChosen, isStop, number }: StepProps): View =>
  useMemo(() => drawStep({ bar, isChosen, isStop, number }), [bar, isChosen, isStop, number])

const drawStep = ({ bar, isChosen, isStop, number }: StepProps): View => {
  const { left, length, step, width } = bar
  const facts = [tokensText(step), step.cost_usd === null ? null : money(step.cost_usd)].filter(Boolean)
  return html`<li>
    <button type="button" class="step step-${step.kind}" data-step=${number} aria-pressed=${isChosen} tabindex=${isStop ? 0 : -1}>
      <span class="name"><b>${stepWords[step.kind]}</b>${step.name !== null && html` <span class="detail">${step.name}</span>`}</span>
      <span class="time">${length === null ? (bar.start === null ? "time not known" : "under way") : duration(length)}</span>
      ${bar.start !== null && html`<span class="track"><span style=${{ left: `${left * 100}%`, width: `${Math.max(width * 100, 0.8)}%` }}></span></span>`}
      ${facts.length > 0 && html`<span class="detail">${facts.join(" · ")}</span>`}
    </button>
  </li>`
}

const Failures = ({ inspection: { failures } }: { readonly inspection: RunInspection }): View =>
  failures.length === 0
    ? null
    : html`<h3>Errors of the provider</h3>
        <ul class="plain failures">
          ${failures.map(
            ({ code, model_name, model_provider, reason, request_id, said, status }) =>
              html`<li>
                <b>${model_provider} / ${model_name}</b>: ${reason}
                <span class="detail">${[status, code, request_id].filter((each) => each !== null).join(" · ")}</span>
                ${said !== null && html`<pre>${said}</pre>`}
              </li>`
          )}
        </ul>`

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

/** The runs of helpers at all depths, each with its own steps. */
const Helpers = ({ inspection: { helpers } }: { readonly inspection: RunInspection }): View =>
  helpers.length === 0
    ? null
    : html`<h3>Helpers</h3>
        <ul class="helpers">
          ${helpers.map(
            (helper) =>
              html`<li key=${helper.run_id}>
                <div class="row">
                  <b>${helper.name}</b>
                  ${
                    helper.inspection !== null &&
                    html`<button type="button" class="quiet" onClick=${() => act(inspector.inspect)(helper.thread_id, helper.run_id)}>Look inside</button>`
                  }
                </div>
                ${
                  helper.inspection === null
                    ? html`<p class="hint">It never began, or its thread was deleted.</p>`
                    : html`<${HelperSteps} inspection=${helper.inspection} />`
                }
              </li>`
          )}
        </ul>`

const HelperSteps = ({ inspection }: { readonly inspection: RunInspection }): View => {
  const { bars } = useMemo(() => makeChart(inspection.steps, Date.now()), [inspection])
  return html`<ol class=${classes("steps", "small")}>
      ${bars.map((bar, number) => html`<${HelperStep} key=${number} bar=${bar} />`)}
    </ol>
    <${Failures} inspection=${inspection} />
    <${Helpers} inspection=${inspection} />`
}

const HelperStep = ({ bar: { left, length, step, width } }: { readonly bar: Bar }): View =>
  html`<li class="step step-${step.kind}">
    <span class="name"><b>${stepWords[step.kind]}</b>${step.name !== null && html` <span class="detail">${step.name}</span>`}</span>
    <span class="time">${length === null ? "" : duration(length)}</span>
    <span class="track"><span style=${{ left: `${left * 100}%`, width: `${Math.max(width * 100, 0.8)}%` }}></span></span>
  </li>`

/** A spoken turn in the inspector: its facts, its film from the end of the user's words to the first sound, and the chosen step. */
import { count, duration } from "../lib/format.ts"
import type { SpokenTurn } from "../lib/spoken.ts"
import { makeChart, shareAt } from "../lib/waterfall.ts"
import * as inspector from "../state/inspector.ts"
import { html, useMemo, type View } from "../view.ts"
import { FilmStrip } from "./FilmStrip.ts"
import { CallDetail, Folded, StepFrame, stepTime } from "./StepDetail.ts"
import { StepList } from "./Waterfall.ts"

export const SpokenFilm = ({ turn }: { readonly turn: SpokenTurn }): View => {
  const { firstTokenAt, stages } = turn
  const { bars, total } = useMemo(() => makeChart(stages, 0), [stages])
  const chosen = inspector.step.value
  // Calls come after the stages and have no times, so the film does not show them.
  const timed = useMemo(() => bars.filter(({ start }) => start !== null), [bars])
  return html`<section class="waterfall">
    <${Facts} turn=${turn} />
    ${
      timed.length === 0
        ? html`<p class="hint">The voice of this answer tells no times.</p>`
        : html`<${FilmStrip}
            bars=${timed}
            shares=${[]}
            chosen=${chosen}
            head=${null}
            firstToken=${shareAt(stages, total, firstTokenAt)}
            onSeek=${() => {}}
            onChoose=${inspector.chooseStep}
          />`
    }
    ${chosen !== null && html`<${Detail} key=${chosen} turn=${turn} number=${chosen} />`}
    ${bars.length > 0 && html`<${StepList} bars=${bars} chosen=${chosen} onChoose=${inspector.chooseStep} />`}
    <p class="hint">A voice session is no run: its prompts and its log are not kept.</p>
  </section>`
}

const Facts = ({ turn: { answer, firstSound, isInterrupted, status } }: { readonly turn: SpokenTurn }): View =>
  html`<dl class="facts">
    <div><dt>Model</dt><dd>${answer.provider} / ${answer.model}</dd></div>
    ${firstSound !== null && html`<div><dt>First sound</dt><dd>${duration(firstSound)}</dd></div>`}
    ${answer.inputTokens !== null && html`<div><dt>Tokens</dt><dd>${count(answer.inputTokens)} in, ${count(answer.outputTokens ?? 0)} out</dd></div>`}
    <div><dt>Status</dt><dd>${status.toLowerCase().replaceAll("_", " ")}</dd></div>
    <div><dt>Interrupted</dt><dd>${isInterrupted ? "yes" : "no"}</dd></div>
  </dl>`

const Detail = ({ number, turn }: { readonly turn: SpokenTurn; readonly number: number }): View => {
  const step = turn.stages[number]
  if (step === undefined) return null
  const { kind } = step
  const time = stepTime(step)
  return html`<${StepFrame} number=${number} step=${step} facts=${time === null ? [] : [time]} onClose=${() => inspector.chooseStep(null)}>
    ${kind === "hear" && html`<${Said} title="Words heard" text=${turn.heard} />`}
    ${kind === "model" && html`<${Said} title="Received" text=${turn.answer.text} />`}
    ${kind === "speak" && html`<${Said} title="Words spoken" text=${turn.answer.text} />`}
    ${turn.calls.filter(({ id }) => id === step.tool_call_id).map((call) => html`<${CallDetail} ...${call} isRead />`)}
  <//>`
}

const Said = ({ text, title }: { readonly title: string; readonly text: string | null }): View =>
  html`<${Folded} title=${title} isOpen>
    ${text === null || text === "" ? html`<p class="hint">No words are kept.</p>` : html`<pre dir="auto">${text}</pre>`}
  <//>`

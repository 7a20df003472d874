/** The conversation as it was at an instant of the turn. */
import type { Moment as Instant } from "../lib/replay.ts"
import { plural } from "../lib/format.ts"
import { html, type View } from "../view.ts"

interface MomentProps {
  readonly moment: Instant
  /** Messages before this turn that the model read. */
  readonly earlier: number
  readonly onEnd: () => void
}

export const Moment = ({ earlier, moment, onEnd }: MomentProps): View =>
  html`<section class="moment" aria-label="The conversation at this instant">
    <header class="row">
      <h3>At this instant</h3>
      <button type="button" class="quiet" onClick=${onEnd}>To the end</button>
    </header>
    ${earlier > 0 && html`<p class="hint">${plural(earlier, "message")} before this turn</p>`}
    ${moment.question !== null && html`<p class="moment-question" dir="auto">${moment.question}</p>`}
    ${moment.answers.map(
      ({ calls, pieces, problem, state, thoughts }) =>
        html`<div class="moment-answer">
          ${thoughts !== "" && html`<p class="hint" dir="auto">${thoughts}</p>`}
          ${pieces.map((piece) =>
            piece.kind === "text"
              ? html`<p dir="auto">${piece.text}</p>`
              : html`<p>
                  ${piece.ids.map((id) => {
                    const call = calls.find((each) => each.id === id)
                    return html`<span class="chip">${call?.name ?? "tool"} ${call?.given === "" ? "…" : call?.given}</span> `
                  })}
                </p>`
          )}
          ${state === "live" && html`<span class="caret" aria-hidden="true"></span>`}
          ${state === "waiting" && html`<p class="hint">It waits for results.</p>`}
          ${problem !== null && html`<p class="problem">${problem}</p>`}
        </div>`
    )}
    ${moment.question === null && moment.answers.length === 0 && html`<p class="hint">Nothing is said yet.</p>`}
  </section>`

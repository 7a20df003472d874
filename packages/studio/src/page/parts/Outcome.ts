/** A person tells the true answer to a typed question, from which calibration is computed. For answers in Talk, and for those of judges. */
import { mayAct } from "../lib/host.ts"
import type { Truth } from "../state/outcomes.ts"
import { act } from "../state/studio.ts"
import { html, useState, type View } from "../view.ts"
import type { TypedAnswer } from "../wire.ts"

interface OutcomeProps {
  /** The subject of the outcome, for screen readers. */
  readonly name: string
  readonly answer: TypedAnswer
  /** The outcome that was told before. Null: none was. */
  readonly told: Truth | null
  readonly onTell: (truth: Truth) => Promise<unknown>
}

export const Outcome = ({ answer, name, onTell, told: before }: OutcomeProps): View => {
  /** The outcome that was told here. */
  const [now, setNow] = useState<Truth | null>(null)
  const told = now ?? before
  const tell = async (truth: Truth) => {
    await onTell(truth)
    setNow(truth)
  }
  if (!mayAct()) {
    const word = truths(answer).find(([, truth]) => truth === told)?.[0]
    return word === undefined ? null : html`<p class="hint">In truth: ${word}</p>`
  }
  return html`<div class="outcome" role="group" aria-label="What turned out for ${name}">
    <span class="hint">In truth</span>
    ${truths(answer).map(
      ([word, truth]) =>
        html`<button type="button" class="quiet" key=${word} aria-pressed=${told === truth} onClick=${() => act(tell)(truth)}>${word}</button>`
    )}
    ${now === null && before !== null && html`<span class="hint">Told</span>`}
    <span class="hint" role="status">${now === null ? "" : "Told"}</span>
  </div>`
}

const truths = (answer: TypedAnswer): ReadonlyArray<readonly [word: string, truth: Truth]> => {
  if (answer.type === "noul")
    return [
      ["Yes", true],
      ["No", false]
    ]
  const names = Object.keys(answer.probabilities)
  return answer.type === "choice"
    ? names.map((name) => [name, name])
    : names.map((level) => [answer.legend[level] ?? level, Number(level)])
}

/** Typed answers: each question with its answer as text and its probabilities as bars. */
import { post } from "../api/http.ts"
import { percent } from "../lib/format.ts"
import { act } from "../state/place.ts"
import { html, useState, type View } from "../view.ts"
import type { SystemOne, TypedAnswer } from "../wire.ts"

interface TypedAnswersProps {
  readonly typed: SystemOne
  readonly threadId: string | null
  readonly messageId: string | null
}

export const TypedAnswers = ({ messageId, threadId, typed }: TypedAnswersProps): View =>
  html`<div class="chart">
    ${Object.entries(typed.answers).map(
      ([name, answer]) =>
        html`<section>
          <h4>${name}: ${said(answer)}</h4>
          ${answerBars(answer)}
          ${threadId !== null && messageId !== null && html`<${Outcome} path="/threads/${threadId}/messages/${messageId}/outcomes" question=${name} answer=${answer} />`}
        </section>`
    )}
    <p class="hint">${typed.estimated ? `${typed.method}, an estimate` : typed.method}</p>
  </div>`

interface OutcomeProps {
  readonly path: string
  readonly question: string
  readonly answer: TypedAnswer
}

type Truth = string | number | boolean

const outcomes = (answer: TypedAnswer): ReadonlyArray<readonly [word: string, outcome: Truth]> => {
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

/** What turned out to be true, from which the calibration is made. */
const Outcome = ({ answer, path, question }: OutcomeProps): View => {
  const [told, setTold] = useState<Truth | null>(null)
  const tell = async (outcome: Truth) => {
    await post(path, { question, outcome })
    setTold(outcome)
  }
  return html`<div class="outcome" role="group" aria-label="What turned out for ${question}">
    <span class="hint">In truth</span>
    ${outcomes(answer).map(
      ([word, outcome]) =>
        html`<button type="button" class="quiet" key=${word} aria-pressed=${told === outcome} onClick=${() => act(tell)(outcome)}>${word}</button>`
    )}
    <span class="hint" role="status">${told === null ? "" : "Told"}</span>
  </div>`
}

const said = (answer: TypedAnswer): string => {
  switch (answer.type) {
    case "noul":
      return `${percent(answer.noul)} yes`
    case "choice":
      return `${answer.choice}, confidence ${percent(answer.confidence)}`
    case "score":
      return `${Math.round(answer.score * 100) / 100}, confidence ${percent(answer.confidence)}`
  }
}

const answerBars = (answer: TypedAnswer): View => {
  if (answer.type === "noul") return bar("yes", answer.noul, answer.noul >= 0.5)
  const entries = Object.entries(answer.probabilities)
  const best = Math.max(...entries.map(([, share]) => share))
  const legend = answer.type === "score" ? answer.legend : {}
  const isChosen = (key: string, share: number) => (answer.type === "choice" ? key === answer.choice : share === best)
  return html`${entries.map(([key, share]) => bar(legend[key] ?? key, share, isChosen(key, share)))}`
}

const bar = (name: string, share: number, isChosen: boolean): View =>
  html`<div class=${isChosen ? "bar chosen" : "bar"}>
    <span>${name}</span><meter min="0" max="1" value=${share} aria-label=${name}></meter><span>${percent(share)}</span>
  </div>`

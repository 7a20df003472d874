/** Typed answers: each question with its answer as text and its probabilities as bars. */
import { percent } from "../lib/format.ts"
import { readTold, tellOfAnswer, toldOutcome, type Truth } from "../state/outcomes.ts"
import { html, useEffect, type View } from "../view.ts"
import type { SystemOne, TypedAnswer } from "../wire.ts"
import { Outcome } from "./Outcome.ts"

interface TypedAnswersProps {
  readonly typed: SystemOne
  readonly threadId: string | null
  readonly messageId: string | null
}

export const TypedAnswers = ({ messageId, threadId, typed }: TypedAnswersProps): View => {
  useEffect(() => {
    if (threadId !== null) void readTold(threadId)
  }, [threadId])
  return html`<div class="chart">
    ${Object.entries(typed.answers).map(
      ([name, answer]) =>
        html`<section>
          <h4>${name}: ${said(answer)}</h4>
          ${answerBars(answer)}
          ${threadId !== null && messageId !== null && html`<${Outcome} name=${name} answer=${answer} told=${toldOutcome(messageId, name)} onTell=${(outcome: Truth) => tellOfAnswer(threadId, messageId, name, outcome)} />`}
        </section>`
    )}
    <p class="hint">${typed.estimated ? `${typed.method}, an estimate` : typed.method}</p>
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

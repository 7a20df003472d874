/** Typed answers: the questions as they are typed into the page, and the probabilities of the answers as bars. */
import { at, element } from "./dom.js"

/** The body's fields for the questions that stand in the form; null when there are none. */
export const typedFields = () => {
  const text = at("questions").value.trim()
  if (text === "" || !at("asking").open) return null
  const [provider, ...model] = at("typed-model").value.trim().split("/")
  return { llm_provider: provider, model_name: model.join("/"), tools: [], system_one: { questions: parsed(text) } }
}

const parsed = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error("The questions are no JSON object.")
  }
}

const percent = (share) => `${Math.round(share * 100)} %`

/** One option: its name, a bar and the number. */
const bar = (name, share, isChosen) =>
  element(
    "div",
    { className: isChosen ? "bar chosen" : "bar" },
    element("span", { textContent: name }),
    element("meter", { min: 0, max: 1, value: share, ariaLabel: name }),
    element("span", { textContent: percent(share) })
  )

const largest = (probabilities) =>
  Object.keys(probabilities).reduce((best, key) => (probabilities[key] > probabilities[best] ? key : best))

const said = {
  noul: ({ noul }) => `${percent(noul)} yes`,
  choice: ({ choice, confidence }) => `${choice}, confidence ${percent(confidence)}`,
  score: ({ confidence, score }) => `${Math.round(score * 100) / 100}, confidence ${percent(confidence)}`
}

const barsOf = (answer) => {
  if (answer.type === "noul") return [bar("yes", answer.noul, answer.noul >= 0.5)]
  const best = answer.type === "choice" ? answer.choice : largest(answer.probabilities)
  return Object.entries(answer.probabilities).map(([key, share]) =>
    bar(answer.legend?.[key] ?? key, share, key === best)
  )
}

/** What stands in place of the answer's text. */
export const chartOf = ({ answers, estimated, method }) =>
  element(
    "div",
    { className: "chart" },
    ...Object.entries(answers).map(([name, answer]) =>
      element("section", {}, element("h3", { textContent: `${name}: ${said[answer.type](answer)}` }), ...barsOf(answer))
    ),
    element("p", { className: "notes", textContent: estimated ? `${method}, an estimate` : method })
  )

/**
 * A model of typed answers that needs no network, for a first look before a provider is configured. It is no language model: it compares
 * words of the state with words of the question's options, and says so in its name, in its description and in every answer (`estimated`).
 * It uses the names of the wire, so that a client's request works unchanged.
 */
import { type Provider } from "@colloquy/core"
import { type AnswerDriver, describeModel, ModelError, noUsage, type TypedQuestion } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/** `model_name` of a message that asks typed questions without a vendor, with the provider `typedprovider`. */
export const demoTypedModelName = "typed-0.1-word-statistics"

/** Aliases, and the one model behind them. */
const names = ["typed-latest", "typed-preview", demoTypedModelName]

const description =
  "Counts which words of the options occur in the state. It understands nothing, knows no synonyms and no negation, and is here to show what answers look like."

/** A provider of typed answers without a network. */
export const demoTypedProvider = (id = "typedprovider"): Provider => ({
  id,
  answers: demoAnswers,
  listModels: Effect.succeed(
    names.map((name) =>
      describeModel({
        name,
        provider: id,
        modelType: "system_one",
        displayName: "Demo: word statistics (no network, no language model)",
        inputCostPerMillionTokens: 0,
        outputCostPerMillionTokens: 0,
        details: { description }
      })
    )
  )
})

const demoAnswers: AnswerDriver = (request) =>
  Effect.suspend(() => {
    const { model, provider, questions, state } = request
    if (!names.includes(model)) return Effect.fail(new ModelError({ reason: "model_not_found", provider, model }))
    const said = rootsIn(state)
    const spoken = new Set(said)
    return Effect.succeed({
      distributions: Object.fromEntries(
        Object.entries(questions).map(([name, question]) => [name, answer(question, spoken)])
      ),
      method: "native",
      estimated: true,
      model: demoTypedModelName,
      usage: {
        ...noUsage,
        inputTokens: said.length + rootsIn(Object.values(questions)).length,
        outputTokens: Object.keys(questions).length
      }
    })
  })

type Shares = { readonly [option: string]: number }

const answer = (question: TypedQuestion, spoken: ReadonlySet<string>): Shares => {
  switch (question.type) {
    case "noul":
      return question.criteria === undefined
        ? yesShares(rootsIn(question.instructions), spoken)
        : shareOut(Object.entries(question.criteria), spoken)
    case "choice":
      return shareOut(
        Object.entries(question.criteria).map(([option, text]) => [option, `${option} ${text ?? ""}`]),
        spoken
      )
    case "score":
      return shareOut(
        question.criteria.map((text, level) => [String(level), text]),
        spoken
      )
  }
}

/** Without criteria: the share of the question's own words that occur in the state, and a half if there are none. */
const yesShares = (asked: ReadonlyArray<string>, spoken: ReadonlySet<string>): Shares => {
  const roots = [...new Set(asked)]
  const yes = (1 + countIn(roots, spoken)) / (2 + roots.length)
  return { true: yes, false: 1 - yes }
}

/** Words that several options share do not favour any of them. */
const shareOut = (
  options: ReadonlyArray<readonly [option: string, text: string]>,
  spoken: ReadonlySet<string>
): Shares => {
  const roots = options.map(([, text]) => [...new Set(rootsIn(text))])
  const own = roots.map((each) => each.filter((root) => roots.filter((others) => others.includes(root)).length === 1))
  const weights = own.map((each) => 0.5 + 2 * countIn(each, spoken))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return Object.fromEntries(options.map(([option], index) => [option, (weights[index] ?? 0) / sum]))
}

const countIn = (roots: ReadonlyArray<string>, spoken: ReadonlySet<string>): number =>
  roots.filter((root) => spoken.has(root)).length

/**
 * The longer words of all texts inside of a value, without the names of fields. Only their beginnings: "refunded" and "refunds" are the same for
 * the demo.
 */
const rootsIn = (value: Schema.Json | ReadonlyArray<TypedQuestion>): ReadonlyArray<string> => {
  if (typeof value === "string") return (value.toLowerCase().match(/\p{L}{3,}/gu) ?? []).map((word) => word.slice(0, 5))
  if (typeof value !== "object" || value === null) return []
  return Object.values(value).flatMap(rootsIn)
}

/** The use cases of experiments. What answers and scores is `RunExperiment`. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Assistants } from "../assistants/Assistants.ts"
import { documentsPartName } from "../documents/DocumentWork.ts"
import { type AssistantId, type CaseId, ExperimentId, FollowUpId, newId } from "../primitives/Ids.ts"
import { tracedFn } from "../primitives/Traced.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import { RunStore } from "../runs/RunStore.ts"
import { answeredBefore, firstAnswer, keptAnswer } from "../runs/AnsweredBefore.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import { CaseNotFound, type EvalCase } from "./Case.ts"
import { compare } from "./Comparison.ts"
import { EvalSettings } from "./EvalSettings.ts"
import type { ExperimentCalls } from "./Evals.ts"
import { EvalStore, type ExperimentPage, type ResultPage } from "./EvalStore.ts"
import {
  attemptsIn,
  Experiment,
  ExperimentNotFound,
  ExperimentRefused,
  type ExperimentResult,
  type ExperimentState,
  NewExperiment,
  TooManyExperiments,
  type ExperimentVariant,
  VariantNotFound
} from "./Experiment.ts"
import { type GivenProblem, readerFor } from "../primitives/ReadGiven.ts"
import { makeCalibration } from "./OnlineReports.ts"
import { attemptWork } from "./RunExperiment.ts"
import { Scoring } from "./Scoring.ts"
import { summarize } from "./Summary.ts"

const casesAtOnce = 50
const resultsAtOnce = 200
const attemptsAtOnce = 3

const codec = Schema.toCodecJson(Experiment)
const encode = Schema.encodeSync(codec)
const decode = Schema.decodeUnknownOption(codec)
const readNew = readerFor(Schema.toType(NewExperiment))

const begun = (experiment: Experiment): ExperimentState => ({
  experiment,
  status: "running",
  reason: null,
  done: 0,
  costUsd: 0,
  endedAt: null
})
const decodeBegun = (json: unknown) => Option.map(decode(json), begun)

const decodeResumed = Schema.decodeUnknownOption(ExperimentId)

/** For each chain of attempts, the number of its first attempt without a result. */
const firstMissing = (experiment: Experiment, done: ReadonlySet<number>): ReadonlyArray<number> =>
  Array.from({ length: experiment.concurrency }, (_, first) => {
    let number = first
    while (done.has(number)) number += experiment.concurrency
    return number
  })

const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

/** What is kept of the cases until the experiment is checked. */
interface Chosen {
  readonly ids: Array<CaseId>
  /** Cases without an assistant. */
  withoutAssistant: number
  /** Scorers of the host that are not registered. */
  readonly unknown: Set<string>
}

export const makeExperiments = Effect.gen(function* () {
  const store = yield* EvalStore
  const runs = yield* RunStore
  const followUps = yield* FollowUps
  const assistants = yield* Assistants
  const scoring = yield* Scoring
  const settings = yield* EvalSettings
  const calibrate = yield* makeCalibration
  const parts = yield* TurnParts

  const refuse = (problems: ReadonlyArray<GivenProblem>) => Effect.fail(new ExperimentRefused({ problems }))

  const find = Effect.fnUntraced(function* (id: ExperimentId) {
    const found = yield* store.getExperiment(id)
    return Option.isSome(found) ? found.value : yield* new ExperimentNotFound({ experimentId: id })
  })

  const choose = Effect.fnUntraced(function* ({ caseIds, tags = [] }: NewExperiment) {
    const chosen: Chosen = { ids: [], withoutAssistant: 0, unknown: new Set() }
    const add = ({ assistantId, expectations, id }: EvalCase) => {
      chosen.ids.push(id)
      if (assistantId === null) chosen.withoutAssistant++
      for (const name of scoring.unknown(expectations)) chosen.unknown.add(name)
    }
    if (caseIds !== undefined) {
      for (const caseId of caseIds) {
        const found = yield* store.getCase(caseId)
        if (Option.isNone(found)) return yield* new CaseNotFound({ caseId })
        add(found.value)
      }
      return chosen
    }
    const [tag] = tags
    for (let after: CaseId | undefined; ;) {
      const page = yield* store.listCases({
        limit: casesAtOnce,
        ...(after === undefined ? {} : { after }),
        ...(tag === undefined ? {} : { tag })
      })
      for (const each of page) if (tags.every((wanted) => each.tags.includes(wanted))) add(each)
      after = page.at(-1)?.id
      if (page.length < casesAtOnce || after === undefined) return chosen
    }
  })

  /** Every assistant exists, and has the version that is named. */
  const versionProblems = Effect.fnUntraced(function* (variants: ReadonlyArray<ExperimentVariant>) {
    const problems: Array<GivenProblem> = []
    for (const [index, { assistantId, assistantVersion }] of variants.entries()) {
      if (assistantId !== undefined) yield* assistants.get(assistantId)
      if (assistantVersion === undefined) continue
      const path = ["variants", index, "assistantVersion"]
      if (assistantId === undefined) problems.push({ path, message: "Name the assistant of this version too." })
      else if (!(yield* hasVersion(assistantId, assistantVersion)))
        problems.push({ path, message: "The assistant has no such version." })
    }
    return problems
  })

  const hasVersion = (id: AssistantId, version: number) =>
    assistants.version(id, version).pipe(
      Effect.as(true),
      Effect.catchTag("AssistantVersionNotFound", () => Effect.succeed(false))
    )

  const problemsIn = (asked: NewExperiment, chosen: Chosen): ReadonlyArray<GivenProblem> => {
    const { caseIds, expectations = [], repeats = 1, tags, variants } = asked
    const problems: Array<GivenProblem> = []
    const names = variants.map(({ name }) => name)
    for (const [index, name] of names.entries())
      if (names.indexOf(name) < index)
        problems.push({ path: ["variants", index, "name"], message: "Another variant has this name." })
    if (caseIds !== undefined && tags !== undefined)
      problems.push({ path: ["tags"], message: "Choose cases either by their ids or by their tags." })
    if (chosen.ids.length === 0)
      problems.push({ path: caseIds === undefined ? ["tags"] : ["caseIds"], message: "There is no such case." })
    const attempts = chosen.ids.length * variants.length * repeats
    if (attempts > settings.mostAttempts)
      problems.push({
        path: [],
        message: `This makes ${attempts} attempts (cases × variants × repeats), and the limit is ${settings.mostAttempts}.`
      })
    if (chosen.withoutAssistant > 0)
      for (const [index, { assistantId }] of variants.entries())
        if (assistantId === undefined)
          problems.push({
            path: ["variants", index, "assistantId"],
            message: `${chosen.withoutAssistant} of the cases name no assistant, so the variant has to.`
          })
    const hasDocuments = parts.all().some(({ name }) => name === documentsPartName)
    for (const [index, { retrieval }] of variants.entries())
      if (retrieval !== undefined && !hasDocuments)
        problems.push({ path: ["variants", index, "retrieval"], message: "There are no documents here to search." })
    const unknown = [...new Set([...chosen.unknown, ...scoring.unknown(expectations)])]
    if (unknown.length > 0)
      problems.push({ path: ["expectations"], message: `There is no scorer of this name: ${unknown.join(", ")}.` })
    return problems
  }

  const allResults = Effect.fnUntraced(function* (experimentId: ExperimentId) {
    const results: Array<ExperimentResult> = []
    while (true) {
      const after = results.at(-1)?.number
      const page = yield* store.listResults({
        experimentId,
        limit: resultsAtOnce,
        ...(after === undefined ? {} : { after })
      })
      // The text of an answer is not needed for its figures.
      results.push(...page.map((result) => ({ ...result, content: "", toolCalls: [] })))
      if (page.length < resultsAtOnce) return results
      yield* Effect.yieldNow
    }
  })

  const calls: ExperimentCalls = {
    createExperiment: tracedFn("Evals.createExperiment")(function* (
      given: NewExperiment,
      idempotency?: IdempotencyKey
    ) {
      const answered = yield* answeredBefore(runs, idempotency, decodeBegun)
      if (answered !== undefined) return answered
      const read = readNew(given)
      if (Result.isFailure(read)) return yield* refuse(read.failure)
      const asked = read.success
      const chosen = yield* choose(asked)
      const problems = [...problemsIn(asked, chosen), ...(yield* versionProblems(asked.variants))]
      if (problems.length > 0) return yield* refuse(problems)
      const experiment: Experiment = {
        id: yield* newId(ExperimentId),
        name: asked.name ?? null,
        caseIds: chosen.ids,
        variants: asked.variants,
        repeats: asked.repeats ?? 1,
        tools: asked.tools ?? "recorded",
        concurrency: asked.concurrency ?? attemptsAtOnce,
        budgetUsd: asked.budgetUsd ?? null,
        expectations: asked.expectations ?? [],
        createdAt: yield* now
      }
      const first = Array.from(
        { length: Math.min(experiment.concurrency, attemptsIn(experiment)) },
        (_, number) => number
      )
      const work = yield* Effect.forEach(first, (number) => attemptWork(experiment, number))
      const once = keptAnswer(idempotency, encode(experiment))
      const stored = yield* store.insertExperiment(
        experiment,
        work.filter((each) => each !== null),
        settings.mostExperiments,
        once
      )
      if (stored === "repeated") return yield* firstAnswer(runs, idempotency, decodeBegun)
      if (stored === "too_many") return yield* new TooManyExperiments({ limit: settings.mostExperiments })
      followUps.wake()
      return begun(experiment)
    }),
    getExperiment: find,
    listExperiments: tracedFn("Evals.listExperiments")(function* (page: ExperimentPage) {
      const found = yield* store.listExperiments({ ...page, limit: page.limit + 1 })
      const experiments = found.slice(0, page.limit)
      const next = found.length > experiments.length ? (experiments.at(-1)?.experiment.id ?? null) : null
      return { experiments, next }
    }),
    cancelExperiment: tracedFn("Evals.cancelExperiment")(function* (id: ExperimentId) {
      yield* find(id)
      yield* store.endExperiment({ id, status: "cancelled", reason: null, at: yield* now })
      return yield* find(id)
    }),
    resumeExperiment: tracedFn("Evals.resumeExperiment")(function* (
      id: ExperimentId,
      { budgetUsd }: { readonly budgetUsd?: number | null } = {},
      idempotency?: IdempotencyKey
    ) {
      const answered = yield* answeredBefore(runs, idempotency, decodeResumed)
      if (answered !== undefined) return yield* find(id)
      const state = yield* find(id)
      if (state.status !== "stopped" && state.status !== "cancelled") return state
      const budget = budgetUsd === undefined ? state.experiment.budgetUsd : budgetUsd
      if (budget !== null && !(Number.isFinite(budget) && budget > state.costUsd))
        return yield* refuse([
          {
            path: ["budgetUsd"],
            message: `${Number(state.costUsd.toFixed(6))} USD are spent. Name more than that, or null.`
          }
        ])
      const experiment = { ...state.experiment, budgetUsd: budget }
      const done = new Set((yield* allResults(id)).map(({ number }) => number))
      const mark = yield* newId(FollowUpId)
      const work = yield* Effect.forEach(firstMissing(experiment, done), (number) =>
        attemptWork(experiment, number, mark)
      )
      const once = keptAnswer(idempotency, id)
      const stored = yield* store.resumeExperiment(
        experiment,
        work.filter((each) => each !== null),
        once
      )
      if (stored === "repeated") yield* firstAnswer(runs, idempotency, decodeResumed)
      followUps.wake()
      return yield* find(id)
    }),
    removeExperiment: tracedFn("Evals.removeExperiment")(function* (id: ExperimentId) {
      if (!(yield* store.removeExperiment(id))) return yield* new ExperimentNotFound({ experimentId: id })
    }),
    listResults: tracedFn("Evals.listResults")(function* (page: ResultPage) {
      yield* find(page.experimentId)
      const found = yield* store.listResults({ ...page, limit: page.limit + 1 })
      const results = found.slice(0, page.limit)
      return { results, next: found.length > results.length ? (results.at(-1)?.number ?? null) : null }
    }),
    summarizeExperiment: tracedFn("Evals.summarizeExperiment")(function* (id: ExperimentId) {
      yield* find(id)
      return summarize(yield* allResults(id))
    }),
    calibrateExperiment: tracedFn("Evals.calibrateExperiment")(function* (id: ExperimentId) {
      yield* find(id)
      return yield* calibrate((yield* allResults(id)).flatMap(({ scores }) => scores))
    }),
    compareVariants: tracedFn("Evals.compareVariants")(function* (
      id: ExperimentId,
      names: { readonly before: string; readonly after: string }
    ) {
      const { experiment } = yield* find(id)
      for (const name of [names.before, names.after])
        if (experiment.variants.every((variant) => variant.name !== name)) return yield* new VariantNotFound({ name })
      return compare(yield* allResults(id), names)
    })
  }
  return calls
})

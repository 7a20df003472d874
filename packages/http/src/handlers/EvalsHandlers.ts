/** Evals over HTTP. A host that has not installed `Evals.layer()` answers 501. */
import { AssistantId, MessageId, Principal, RunId, ThreadId } from "@colloquy/core"
import { CaseId, ExperimentId, runYielding } from "@colloquy/core/adapters"
import {
  comparisonRecord,
  Evals,
  type NewExperiment,
  type ScoredAnswerIds,
  type ScorePosition,
  variantRecord
} from "@colloquy/core/wings"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { Api } from "../Api.ts"
import {
  caseFromWire,
  caseToWire,
  experimentToWire,
  feedbackToWire,
  judgeOutcomesToWire,
  judgeToWire,
  onlineReportToWire,
  onlineScoreToWire,
  resultToWire
} from "../encoding/EncodeEvals.ts"
import { writePage } from "../encoding/EncodeList.ts"
import { evalBodies } from "../endpoints/EvalsApi.ts"
import { bodyReader } from "../wings/BodyReader.ts"
import { HTTPValidationError, NotImplemented } from "../wire/Errors.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { compact, given, givenName } from "../wire/Fields.ts"
import type { ExperimentRequest } from "../wire/EvalRecords.ts"
import { readIdempotency, textOfList } from "./Idempotency.ts"
import { modelOptionsFromWire } from "./TurnOptions.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "evals",
  Effect.fnUntraced(function* (handlers) {
    const read = yield* bodyReader
    const evals = Option.match(yield* Effect.serviceOption(Evals), {
      onNone: () => Effect.fail(new NotImplemented({ detail })),
      onSome: (service) => Effect.succeed(service)
    })

    const recordOutcome = Effect.fnUntraced(function* (
      raw: Parameters<typeof read>[1],
      at: (score: number) => ScorePosition
    ) {
      const { recordJudgeOutcome } = yield* evals
      const { outcome, score } = (yield* read(evalBodies.judged, raw)).value
      const { expected, value } = yield* Effect.mapError(recordJudgeOutcome(at(score), outcome), toWireError)
      return HttpServerResponse.jsonUnsafe({ message: "The outcome was recorded.", expected, value, outcome })
    })

    const listOutcomes = Effect.fnUntraced(function* (ids: ScoredAnswerIds) {
      const { listJudgeOutcomes } = yield* evals
      return judgeOutcomesToWire(yield* Effect.mapError(listJudgeOutcomes(ids), toWireError))
    })

    return handlers
      .handleRaw(
        "createCase",
        Effect.fnUntraced(function* (raw) {
          const { createCase } = yield* evals
          const { value } = yield* read(evalBodies.create, raw)
          const { idempotency } = yield* readIdempotency(raw, () => value)
          const { message_id, question, thread_id, ...fields } = value
          const { expectations, name, tags } = fields
          const asked =
            given(thread_id) === undefined
              ? caseFromWire({ ...fields, question: question ?? "" })
              : {
                  threadId: ThreadId.make(thread_id ?? ""),
                  messageId: MessageId.make(message_id ?? ""),
                  ...compact({ name: given(name), expectations: given(expectations), tags: given(tags) })
                }
          const made = yield* Effect.mapError(createCase(asked, idempotency), toWireError)
          return HttpServerResponse.jsonUnsafe(caseToWire(made), { status: 201 })
        })
      )
      .handleRaw(
        "importCases",
        Effect.fnUntraced(function* (raw) {
          const { importCases } = yield* evals
          const { value } = yield* read(evalBodies.import, raw)
          const cases = yield* runYielding(value.cases())
          if (Result.isFailure(cases)) return yield* new HTTPValidationError({ detail: cases.failure })
          const said = yield* textOfList(raw, cases.success)
          const { idempotency } = yield* readIdempotency(raw, () => ({ said }))
          const asked = cases.success.map(caseFromWire)
          const case_ids = yield* Effect.mapError(importCases(asked, idempotency), toWireError)
          return HttpServerResponse.jsonUnsafe({ imported: case_ids.length, case_ids }, { status: 201 })
        })
      )
      .handle(
        "listCases",
        Effect.fnUntraced(function* ({ query: { cursor, limit = 20, tag } }) {
          const { listCases } = yield* evals
          const after = cursor === undefined ? undefined : CaseId.make(cursor)
          const { cases, next } = yield* Effect.mapError(listCases({ limit, ...compact({ after, tag }) }), toWireError)
          return yield* writePage("cases", cases.map(caseToWire), { next_cursor: next })
        })
      )
      .handle(
        "getCase",
        Effect.fnUntraced(function* ({ params }) {
          const { getCase } = yield* evals
          return caseToWire(yield* Effect.mapError(getCase(CaseId.make(params.case_id)), toWireError))
        })
      )
      .handleRaw(
        "updateCase",
        Effect.fnUntraced(function* (raw) {
          const { updateCase } = yield* evals
          const { value } = yield* read(evalBodies.update, raw)
          const { expectations, name, tags } = value
          const change = compact({ name, expectations: given(expectations), tags: given(tags) })
          const changed = yield* Effect.mapError(updateCase(CaseId.make(raw.params.case_id), change), toWireError)
          return HttpServerResponse.jsonUnsafe(caseToWire(changed))
        })
      )
      .handle(
        "removeCase",
        Effect.fnUntraced(function* ({ params }) {
          const { removeCase } = yield* evals
          yield* Effect.mapError(removeCase(CaseId.make(params.case_id)), toWireError)
          const deleted_at = new Date(yield* Clock.currentTimeMillis).toISOString()
          return { message: "The case was deleted.", case_id: params.case_id, deleted_at }
        })
      )
      .handleRaw(
        "createExperiment",
        Effect.fnUntraced(function* (raw) {
          const { createExperiment } = yield* evals
          const { value } = yield* read(evalBodies.experiment, raw)
          const { idempotency } = yield* readIdempotency(raw, () => value)
          const made = createExperiment(experimentFromWire(value), idempotency)
          const record = experimentToWire(yield* Effect.mapError(made, toWireError))
          return HttpServerResponse.jsonUnsafe(record, { status: 201 })
        })
      )
      .handle(
        "listExperiments",
        Effect.fnUntraced(function* ({ query: { cursor, limit = 20 } }) {
          const { listExperiments } = yield* evals
          const after = cursor === undefined ? undefined : ExperimentId.make(cursor)
          const found = yield* Effect.mapError(listExperiments({ limit, ...compact({ after }) }), toWireError)
          return yield* writePage("experiments", found.experiments.map(experimentToWire), { next_cursor: found.next })
        })
      )
      .handle(
        "getExperiment",
        Effect.fnUntraced(function* ({ params }) {
          const { getExperiment } = yield* evals
          return experimentToWire(yield* Effect.mapError(getExperiment(idFrom(params)), toWireError))
        })
      )
      .handle(
        "cancelExperiment",
        Effect.fnUntraced(function* ({ params }) {
          const { cancelExperiment } = yield* evals
          return experimentToWire(yield* Effect.mapError(cancelExperiment(idFrom(params)), toWireError))
        })
      )
      .handleRaw(
        "resumeExperiment",
        Effect.fnUntraced(function* (raw) {
          const { resumeExperiment } = yield* evals
          const { value } = yield* read(evalBodies.resume, raw)
          const change = compact({ budgetUsd: value?.budget_usd })
          const { idempotency } = yield* readIdempotency(raw, () => change)
          const resumed = resumeExperiment(idFrom(raw.params), change, idempotency)
          return HttpServerResponse.jsonUnsafe(experimentToWire(yield* Effect.mapError(resumed, toWireError)))
        })
      )
      .handleRaw(
        "listResults",
        Effect.fnUntraced(function* ({ params, query: { cursor, format, limit = 20 } }) {
          const { listResults } = yield* evals
          const principal = yield* Principal
          const experimentId = idFrom(params)
          const first = yield* Effect.mapError(
            listResults({
              experimentId,
              limit: format === "jsonl" ? resultsAtOnce : limit,
              ...compact({ after: cursor })
            }),
            toWireError
          )
          if (format !== "jsonl")
            return yield* writePage("results", first.results.map(resultToWire), {
              next_cursor: first.next === null ? null : String(first.next)
            })
          const lines = Stream.paginate(first, (page) => {
            const text = page.results.map((result) => `${JSON.stringify(resultToWire(result))}\n`)
            if (page.next === null) return Effect.succeed([text, Option.none<typeof first>()] as const)
            const more = listResults({ experimentId, limit: resultsAtOnce, after: page.next })
            return Effect.map(more, (next) => [text, Option.some(next)] as const)
          })
          return HttpServerResponse.stream(Stream.encodeText(Stream.provideService(lines, Principal, principal)), {
            contentType: "application/x-ndjson"
          })
        })
      )
      .handle(
        "summarizeExperiment",
        Effect.fnUntraced(function* ({ params }) {
          const { calibrateExperiment, summarizeExperiment } = yield* evals
          const id = idFrom(params)
          const variants = yield* Effect.mapError(summarizeExperiment(id), toWireError)
          const judges = yield* Effect.mapError(calibrateExperiment(id), toWireError)
          return { variants: variants.map(variantRecord), judges: judges.map(judgeToWire) }
        })
      )
      .handle(
        "compareVariants",
        Effect.fnUntraced(function* ({ params, query: { a, b } }) {
          const { compareVariants } = yield* evals
          return comparisonRecord(
            yield* Effect.mapError(compareVariants(idFrom(params), { before: a, after: b }), toWireError)
          )
        })
      )
      .handleRaw(
        "giveFeedback",
        Effect.fnUntraced(function* (raw) {
          const { giveFeedback } = yield* evals
          const { value } = yield* read(evalBodies.feedback, raw)
          const { idempotency } = yield* readIdempotency(raw, () => value)
          const { comment, score, tags } = value
          const feedback = { score, ...compact({ comment, tags: given(tags) }) }
          const ids = {
            threadId: ThreadId.make(raw.params.thread_id),
            messageId: MessageId.make(raw.params.message_id)
          }
          const kept = yield* Effect.mapError(giveFeedback(ids, feedback, idempotency), toWireError)
          return HttpServerResponse.jsonUnsafe(feedbackToWire(kept))
        })
      )
      .handle(
        "copyTurn",
        Effect.fnUntraced(function* ({ params }) {
          const { copyTurn } = yield* evals
          const copied = copyTurn(ThreadId.make(params.thread_id), MessageId.make(params.message_id))
          return yield* Effect.mapError(copied, toWireError)
        })
      )
      .handle(
        "listFeedback",
        Effect.fnUntraced(function* ({ query: { assistant_id, cursor, limit = 20, thread_id } }) {
          const { listFeedback } = yield* evals
          const page = compact({
            after: cursor === undefined ? undefined : MessageId.make(cursor),
            threadId: thread_id === undefined ? undefined : ThreadId.make(thread_id),
            assistantId: assistant_id === undefined ? undefined : AssistantId.make(assistant_id)
          })
          const { feedback, next } = yield* Effect.mapError(listFeedback({ limit, ...page }), toWireError)
          return { feedback: feedback.map(feedbackToWire), next_cursor: next }
        })
      )
      .handleRaw("recordResultOutcome", (raw) =>
        recordOutcome(raw, (score) => ({ experimentId: idFrom(raw.params), number: raw.params.number, score }))
      )
      .handleRaw("recordScoreOutcome", (raw) =>
        recordOutcome(raw, (score) => ({ runId: RunId.make(raw.params.run_id), score }))
      )
      .handle("listResultOutcomes", ({ params }) =>
        listOutcomes({ experimentId: idFrom(params), number: params.number })
      )
      .handle("listScoreOutcomes", ({ params }) => listOutcomes({ runId: RunId.make(params.run_id) }))
      .handle(
        "onlineReport",
        Effect.fnUntraced(function* ({ query: { assistant_id, from, to } }) {
          const { onlineReport } = yield* evals
          const range = compact({
            from: from === undefined ? undefined : new Date(from),
            to: to === undefined ? undefined : new Date(to),
            assistantId: assistant_id === undefined ? undefined : AssistantId.make(assistant_id)
          })
          return onlineReportToWire(yield* Effect.mapError(onlineReport(range), toWireError))
        })
      )
      .handle(
        "listOnlineScores",
        Effect.fnUntraced(function* ({ query: { assistant_id, cursor, limit = 20, rated } }) {
          const { listOnlineScores } = yield* evals
          const page = compact({
            after: cursor === undefined ? undefined : RunId.make(cursor),
            assistantId: assistant_id === undefined ? undefined : AssistantId.make(assistant_id),
            rated: rated === "true" ? true : undefined
          })
          const { next, scores } = yield* Effect.mapError(listOnlineScores({ limit, ...page }), toWireError)
          return { scores: scores.map(onlineScoreToWire), next_cursor: next }
        })
      )
      .handle(
        "removeExperiment",
        Effect.fnUntraced(function* ({ params }) {
          const { removeExperiment } = yield* evals
          yield* Effect.mapError(removeExperiment(idFrom(params)), toWireError)
          const deleted_at = new Date(yield* Clock.currentTimeMillis).toISOString()
          return { message: "The experiment was deleted.", experiment_id: params.experiment_id, deleted_at }
        })
      )
  })
)

const detail = "Evals are not available on this server: its host has not installed them."

/** Each may have the text of a whole answer. */
const resultsAtOnce = 20

const idFrom = (params: { readonly experiment_id: string }) => ExperimentId.make(params.experiment_id)

const retrievalFromWire = (retrieval: ExperimentRequest["variants"][number]["retrieval"]) =>
  retrieval ? compact({ searchLimit: given(retrieval.tok_k), excerpts: given(retrieval.excerpts) }) : undefined

const experimentFromWire = (body: ExperimentRequest): NewExperiment => ({
  variants: body.variants.map(({ assistant_id, name, ...variant }) => ({
    name,
    ...compact({
      assistantId: assistant_id === undefined || assistant_id === null ? undefined : AssistantId.make(assistant_id),
      assistantVersion: given(variant.assistant_version),
      provider: givenName(variant.llm_provider),
      model: givenName(variant.model_name),
      modelOptions: modelOptionsFromWire(variant.model_options),
      instructions: given(variant.instructions),
      retrieval: retrievalFromWire(variant.retrieval)
    })
  })),
  ...compact({
    name: given(body.name),
    caseIds: given(body.case_ids)?.map((id) => CaseId.make(id)),
    tags: given(body.tags),
    repeats: given(body.repeats),
    tools: given(body.tools),
    concurrency: given(body.concurrency),
    budgetUsd: given(body.budget_usd),
    expectations: given(body.expectations)
  })
})

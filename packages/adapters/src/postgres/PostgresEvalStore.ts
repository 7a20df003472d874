/** `EvalStore` on PostgreSQL. Cases, experiments and results are one JSON text each; values that statements compare have columns. */
import { Principal, ThreadId } from "@colloquy/core"
import {
  attemptsIn,
  EvalCase,
  type EvalStored,
  EvalStore,
  Experiment,
  ExperimentResult,
  type ExperimentState,
  Feedback,
  OnlineScore
} from "@colloquy/core/wings"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { call, type Database } from "./Database.ts"
import { decodeRows } from "./DecodedRows.ts"
import { followUpsArgument } from "./FollowUpRecord.ts"
import { openDraft, onceArguments } from "./PostgresBranches.ts"
import { discardDraft } from "./Removals.ts"
import { isCompleteCase } from "./schema/Evals.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { knownId, newRowId } from "./StoredId.ts"
import { fromJson, fromTextOrNull, toText, toTextOrNull } from "./StoredText.ts"

interface Body {
  readonly body: string
}

interface CaseRow extends Body {
  readonly id: string
  readonly tags: string
}

/**
 * The most cases, and about the most characters, that one statement stores. In an embedded database everything else waits for a statement.
 */
const [mostRows, mostCharacters] = [200, 300_000]

const caseColumns = (rows: ReadonlyArray<CaseRow>) => ({
  ids: rows.map(({ id }) => id),
  tags: rows.map(({ tags }) => tags),
  bodies: rows.map(({ body }) => body)
})

/** A record with the thread that it belongs to now: a rewind may have moved it since it was written. */
interface BodyInThread extends Body {
  readonly thread_id: string
}
const inThread = <A extends { readonly threadId: ThreadId }>(record: A, threadId: string): A => ({
  ...record,
  threadId: ThreadId.make(threadId)
})

export const evalStore = (database: Database): typeof EvalStore.Service => {
  const { query, schema } = database
  const own = ownedStatements(database, "EvalStore")
  const cases = `${schema}.eval_cases`
  const experiments = `${schema}.eval_experiments`
  const scores = `${schema}.eval_online_scores`
  const isComplete = isCompleteCase("c").replaceAll("{schema}", schema)
  const openCaseDraft = (owner: string, id: string) => Effect.as(openDraft(database, "insertCases", owner, id), id)

  return EvalStore.of({
    insertCases: Effect.fnUntraced(function* (made, most, once) {
      const { ownerId } = yield* Principal
      const owner = toText(ownerId)
      let rows: Array<CaseRow> = []
      let [size, filled] = [0, 0]
      let draft: string | null = null
      for (const each of made) {
        if (size >= mostCharacters || rows.length === mostRows) {
          draft ??= yield* openCaseDraft(owner, newRowId(each.id))
          const args = { owner, draft, ...caseColumns(rows) }
          const fill = `select ${call(database, "fill_eval_cases", args)}`
          yield* query("EvalStore.insertCases", fill, Object.values(args))
          yield* Effect.yieldNow
          filled += rows.length
          rows = []
          size = 0
        }
        const body = caseBody(each)
        rows.push({ id: newRowId(each.id), tags: tagsText(each.tags), body })
        size += body.length
      }
      const args = { owner, ...caseColumns(rows), draft, filled, most, ...onceArguments(once) }
      const [row] = yield* query<{ readonly outcome: EvalStored }>(
        "EvalStore.insertCases",
        `select ${call(database, "insert_eval_cases", args)} as outcome`,
        Object.values(args)
      )
      const outcome = row?.outcome ?? "repeated"
      if (draft !== null && outcome !== "stored") yield* discardDraft(database, "EvalStore.insertCases", draft)
      return outcome
    }),

    getCase: (id) =>
      own.first(
        "getCase",
        `select body from ${cases} c where owner = $1 and id = $2 and ${isComplete}`,
        [knownId(id)],
        readCase
      ),

    listCases: ({ after, limit, tag }) =>
      Effect.flatMap(
        own.rows<Body>(
          "listCases",
          `select body from ${cases} c where owner = $1 and ${isComplete}
               and ($3 or ordinal < (select ordinal from ${cases} where owner = $1 and id = $2))
               and ($4::text is null or position($4 in tags) > 0)
             order by ordinal desc limit $5`,
          [
            after === undefined ? null : knownId(after),
            after === undefined,
            tag === undefined ? null : tagsText([tag]),
            limit
          ]
        ),
        (rows) => decodeRows(rows, readCase)
      ),

    replaceCase: (evalCase) =>
      Effect.suspend(() =>
        own.finds("replaceCase", `update ${cases} set tags = $3, body = $4 where owner = $1 and id = $2 returning id`, [
          knownId(evalCase.id),
          tagsText(evalCase.tags),
          caseBody(evalCase)
        ])
      ),

    removeCase: (id) =>
      own.finds("removeCase", `delete from ${cases} where owner = $1 and id = $2 returning id`, [knownId(id)]),

    insertExperiment: (experiment, followUps, most, once) =>
      Effect.suspend(() =>
        Effect.map(
          own.call<EvalStored>("insertExperiment", "insert_experiment", {
            id: newRowId(experiment.id),
            attempts: attemptsIn(experiment),
            body: JSON.stringify(encodeExperiment(experiment)),
            follow_ups: followUpsArgument(followUps),
            most,
            ...onceArguments(once)
          }),
          (outcome) => outcome ?? "repeated"
        )
      ),

    getExperiment: (id) =>
      own.first(
        "getExperiment",
        `select ${experimentColumns} from ${experiments} where owner = $1 and id = $2`,
        [knownId(id)],
        readExperiment
      ),

    listExperiments: ({ after, limit }) =>
      Effect.flatMap(
        own.rows<ExperimentRow>(
          "listExperiments",
          `select ${experimentColumns} from ${experiments} where owner = $1
               and ($3 or ordinal < (select ordinal from ${experiments} where owner = $1 and id = $2))
             order by ordinal desc limit $4`,
          [after === undefined ? null : knownId(after), after === undefined, limit]
        ),
        (rows) => decodeRows(rows, readExperiment)
      ),

    endExperiment: ({ at, id, reason, status }) =>
      own.finds(
        "endExperiment",
        `update ${experiments} set status = $3, reason = $4, ended_at = $5
             where owner = $1 and id = $2 and status = 'running' returning id`,
        [knownId(id), status, toTextOrNull(reason), at]
      ),

    resumeExperiment: (experiment, followUps, once) =>
      Effect.suspend(() =>
        Effect.map(
          own.call<"resumed" | "kept" | "repeated">("resumeExperiment", "resume_experiment", {
            id: knownId(experiment.id),
            body: JSON.stringify(encodeExperiment(experiment)),
            follow_ups: followUpsArgument(followUps),
            ...onceArguments(once)
          }),
          (outcome) => outcome ?? "kept"
        )
      ),

    recordResult: (id, result, next) =>
      Effect.suspend(() =>
        Effect.map(
          own.call<boolean>("recordResult", "record_eval_result", {
            id: knownId(id),
            number: result.number,
            body: JSON.stringify(encodeResult(result)),
            cost: (result.costUsd ?? 0) + (result.judgesCostUsd ?? 0),
            at: result.endedAt,
            follow_ups: followUpsArgument(next === null ? [] : [next])
          }),
          (stored) => stored === true
        )
      ),

    addCost: (id, costUsd) =>
      Effect.asVoid(
        own.rows("addCost", `update ${experiments} set cost_usd = cost_usd + $3 where owner = $1 and id = $2`, [
          knownId(id),
          costUsd
        ])
      ),

    listResults: ({ after = -1, experimentId, limit }) =>
      Effect.flatMap(
        own.rows<Body>(
          "listResults",
          `select body from ${schema}.eval_results where owner = $1 and experiment_id = $2 and number > $3
             order by number limit $4`,
          [knownId(experimentId), after, limit]
        ),
        (rows) => decodeRows(rows, ({ body }) => decodeResult(fromJson(body)))
      ),

    removeExperiment: (id) =>
      own.finds("removeExperiment", `delete from ${experiments} where owner = $1 and id = $2 returning id`, [
        knownId(id)
      ]),

    putFeedback: (feedback, once) =>
      Effect.suspend(() =>
        Effect.map(
          own.call<"stored" | "missing" | "repeated">("putFeedback", "put_feedback", {
            thread: knownId(feedback.threadId),
            message: newRowId(feedback.messageId),
            assistant: newRowId(feedback.assistantId),
            body: JSON.stringify(encodeFeedback(feedback)),
            ...onceArguments(once)
          }),
          (outcome) => outcome ?? "missing"
        )
      ),

    listFeedback: ({ after, assistantId, limit, threadId }) =>
      Principal.use(({ ownerId }) => {
        const feedback = `${schema}.eval_feedback`
        return Effect.map(
          query<BodyInThread>(
            "EvalStore.listFeedback",
            `select body, thread_id from ${feedback} where owner = $1
               and ($3 or ordinal < (select ordinal from ${feedback} where owner = $1 and message_id = $2))
               and ($5 or thread_id = $4) and ($7 or assistant_id = $6)
             order by ordinal desc limit $8`,
            [
              toText(ownerId),
              after === undefined ? null : knownId(after),
              after === undefined,
              threadId === undefined ? null : knownId(threadId),
              threadId === undefined,
              assistantId === undefined ? null : knownId(assistantId),
              assistantId === undefined,
              limit
            ]
          ),
          (rows) => rows.map(({ body, thread_id }) => inThread(decodeFeedback(fromJson(body)), thread_id))
        )
      }),

    putOnlineScore: (score) =>
      Effect.suspend(() =>
        own.finds(
          "putOnlineScore",
          `with thread as (select id from ${schema}.threads where owner = $1 and id = $3 for key share)
             insert into ${scores} (owner, run_id, thread_id, assistant_id, message_ids, ended_at, body)
             select $1, $2::uuid, id, $4::uuid, $5::uuid[], $6::timestamptz, $7 from thread
             on conflict (owner, run_id) do nothing returning run_id`,
          [
            newRowId(score.runId),
            knownId(score.threadId),
            newRowId(score.assistantId),
            score.messageIds.map(newRowId),
            score.endedAt,
            JSON.stringify(encodeScore(score))
          ]
        )
      ),

    getOnlineScore: (runId) =>
      Effect.map(
        own.rows<BodyInThread>(
          "getOnlineScore",
          `select body, thread_id from ${scores} where owner = $1 and run_id = $2`,
          [knownId(runId)]
        ),
        ([row]) => Option.map(Option.fromNullishOr(row), readScore)
      ),

    listOnlineScores: ({ after, assistantId, before, from, limit, rated = false }) =>
      Effect.map(
        own.rows<BodyInThread & { readonly feedback: string | null }>(
          "listOnlineScores",
          `select s.body, s.thread_id, f.body as feedback from ${scores} s ${rated ? "" : "left"} join lateral (
               select body from ${schema}.eval_feedback where owner = $1 and message_id = any(s.message_ids)
               order by ordinal desc limit 1) f on true
             where s.owner = $1
               and ($3 or s.ordinal < (select ordinal from ${scores} where owner = $1 and run_id = $2))
               and ($5 or s.assistant_id = $4)
               and ($6::timestamptz is null or s.ended_at >= $6) and ($7::timestamptz is null or s.ended_at < $7)
             order by s.ordinal desc limit $8`,
          [
            after === undefined ? null : knownId(after),
            after === undefined,
            assistantId === undefined ? null : knownId(assistantId),
            assistantId === undefined,
            from ?? null,
            before ?? null,
            limit
          ]
        ),
        (rows) =>
          rows.map(({ body, feedback, thread_id }) => ({
            score: readScore({ body, thread_id }),
            feedback: feedback === null ? null : decodeFeedback(fromJson(feedback)).score
          }))
      )
  })
}

interface ExperimentRow extends Body, Pick<ExperimentState, "done" | "status"> {
  readonly reason: string | null
  readonly cost_usd: number
  readonly ended_at: Date | null
}

const experimentColumns = "body, status, reason, done, cost_usd, ended_at"

const readExperiment = ({ body, cost_usd, done, ended_at, reason, status }: ExperimentRow): ExperimentState => ({
  experiment: decodeExperiment(fromJson(body)),
  status,
  reason: fromTextOrNull(reason),
  done,
  costUsd: cost_usd,
  endedAt: ended_at
})

/** A tag contains no line break, so a tag is found by the line breaks around it. */
const tagsText = (tags: ReadonlyArray<string>): string =>
  tags.length === 0 ? "" : `\n${tags.map((tag) => toText(tag)).join("\n")}\n`

const caseCodec = Schema.toCodecJson(EvalCase)
/** A stored case is not checked again. It was checked when it was stored, and a later version that checks more must still read it. */
const unchecked = { disableChecks: true }
const encodeCase = Schema.encodeSync(caseCodec, unchecked)
const decodeCase = Schema.decodeUnknownSync(caseCodec, unchecked)

const experimentCodec = Schema.toCodecJson(Experiment)
const encodeExperiment = Schema.encodeSync(experimentCodec, unchecked)
const decodeExperiment = Schema.decodeUnknownSync(experimentCodec, unchecked)
const resultCodec = Schema.toCodecJson(ExperimentResult)
const encodeResult = Schema.encodeSync(resultCodec, unchecked)
const decodeResult = Schema.decodeUnknownSync(resultCodec, unchecked)

const feedbackCodec = Schema.toCodecJson(Feedback)
const encodeFeedback = Schema.encodeSync(feedbackCodec, unchecked)
const decodeFeedback = Schema.decodeUnknownSync(feedbackCodec, unchecked)

const scoreCodec = Schema.toCodecJson(OnlineScore)
const encodeScore = Schema.encodeSync(scoreCodec, unchecked)
const decodeScore = Schema.decodeUnknownSync(scoreCodec, unchecked)

const readScore = ({ body, thread_id }: BodyInThread): OnlineScore => inThread(decodeScore(fromJson(body)), thread_id)

const caseBody = (evalCase: EvalCase): string => JSON.stringify(encodeCase(evalCase))
const readCase = ({ body }: Body): EvalCase => decodeCase(fromJson(body))

/** The use cases of cases: from a stored turn, from a list, by hand. Everything is checked before anything is stored. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { AssistantNotFound } from "../assistants/Assistant.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { type AssistantId, CaseId, type MessageId, newId, ThreadId } from "../primitives/Ids.ts"
import { tracedFn } from "../primitives/Traced.ts"
import type { IdempotencyKey } from "../runs/Idempotency.ts"
import { RunStore } from "../runs/RunStore.ts"
import { ThreadNotFound } from "../threads/Thread.ts"
import { Threads } from "../threads/Threads.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { hostedMark, type ToolDefinition } from "../tools/ToolDefinition.ts"
import { answeredBefore, firstAnswer, keptAnswer } from "../runs/AnsweredBefore.ts"
import { readImport } from "../turns/Import.ts"
import { MessageNotFound } from "../turns/TurnErrors.ts"
import { decodePlan, joinedSystemPrompt, type TurnPlan } from "../turns/TurnPlan.ts"
import { TurnSettings } from "../turns/TurnSettings.ts"
import {
  CaseChange,
  CaseNotFound,
  CaseOfTurn,
  type CaseProblem,
  CaseRefused,
  EvalCase,
  NewCase,
  TooManyCases
} from "./Case.ts"
import { askedParts } from "./AskedParts.ts"
import { caseMessages, recordedTools } from "./CaseFromTurn.ts"
import { copyAsTest } from "./CopyAsTest.ts"
import { EvalSettings } from "./EvalSettings.ts"
import { type CasePage, EvalStore } from "./EvalStore.ts"
import type { CaseCalls } from "./Evals.ts"
import { type GivenProblem, readerFor } from "../primitives/ReadGiven.ts"
import { isSameJson } from "./Recorded.ts"

/** In any order: a list of tools has each name once. */
const isSameTools = (one: ReadonlyArray<ToolDefinition>, other: ReadonlyArray<ToolDefinition>): boolean => {
  const byName = (tools: ReadonlyArray<ToolDefinition>) =>
    JSON.stringify(Object.fromEntries(tools.map((tool) => [tool.name, tool])))
  return isSameJson(byName(one), byName(other))
}

/** How many messages are read of a turn: a question and its answers. */
const mostOfTurn = 200

const caseCodec = Schema.toCodecJson(EvalCase)
const encodeCase = Schema.encodeSync(caseCodec)
const decodeCase = Schema.decodeUnknownOption(caseCodec)
const decodeIds = Schema.decodeUnknownOption(Schema.Array(CaseId))

const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))

const refuse = (problems: ReadonlyArray<CaseProblem>) => Effect.fail(new CaseRefused({ problems }))
const accept = <A>(read: Result.Result<A, ReadonlyArray<GivenProblem>>) =>
  Result.isSuccess(read)
    ? Effect.succeed(read.success)
    : refuse(read.failure.map((problem) => ({ index: null, ...problem })))

const readNew = readerFor(Schema.toType(NewCase))
const readOfTurn = readerFor(Schema.toType(CaseOfTurn))
const readChange = readerFor(Schema.toType(CaseChange))

export const makeCases = Effect.gen(function* () {
  const store = yield* EvalStore
  const assistants = yield* AssistantStore
  const runs = yield* RunStore
  const threads = yield* Threads
  const threadStore = yield* ThreadStore
  const settings = yield* EvalSettings
  const counter = yield* TokenCounter
  const { imports } = yield* TurnSettings

  /** What its schema cannot say: how long it may be, and that each call of a tool before the question has an output. */
  const checked = Effect.fnUntraced(function* (evalCase: EvalCase, index: number | null) {
    const problems: Array<CaseProblem> = []
    const { longestCase, mostMessages } = settings
    if (evalCase.messages.length > mostMessages)
      problems.push({ index, path: ["messages"], message: `A case has at most ${mostMessages} messages.` })
    else if (JSON.stringify(encodeCase(evalCase)).length > longestCase)
      problems.push({ index, path: [], message: `A case has at most ${longestCase} characters as JSON.` })
    else {
      const importing = { threadId: ThreadId.make("case"), at: evalCase.createdAt, counter, limits: imports }
      yield* Effect.catchTag(readImport(evalCase.messages, importing), "ImportRefused", (refused) =>
        Effect.sync(() => {
          for (const { index: at, message, path } of refused.problems)
            problems.push({ index, path: ["messages", at, ...path], message })
        })
      )
    }
    return problems
  })

  const fromHand = Effect.fnUntraced(function* (asked: NewCase) {
    const at = yield* now
    const made: EvalCase = {
      id: yield* newId(CaseId),
      name: asked.name ?? null,
      assistantId: asked.assistantId ?? null,
      messages: asked.messages ?? [],
      question: asked.question,
      expectations: asked.expectations ?? [],
      tags: asked.tags ?? [],
      tools: asked.tools ?? [],
      ...(asked.toolDefinitions === undefined ? {} : { toolDefinitions: asked.toolDefinitions }),
      ...(asked.instructions === undefined ? {} : { instructions: asked.instructions }),
      ...(asked.options === undefined ? {} : { options: asked.options }),
      source: null,
      createdAt: at,
      updatedAt: at
    }
    return made
  })

  /** A stored question with what was said before, as far as a case may have it, and its answers. */
  const findTurn = Effect.fnUntraced(function* (threadId: ThreadId, messageId: MessageId) {
    const thread = Option.getOrUndefined(yield* threadStore.get(threadId))
    if (thread === undefined) return yield* new ThreadNotFound({ threadId })
    const located = Option.getOrUndefined(yield* runs.locate(threadId, messageId))
    const question = located?.question ?? null
    if (question === null) return yield* new MessageNotFound({ messageId })
    const before = question.sequence - 1
    const read = Math.min(before, settings.mostMessages + 1)
    const earlier = read === 0 ? [] : yield* threads.messages(threadId, before - read, read)
    const later = yield* threads.messages(threadId, question.sequence, mostOfTurn)
    const nextQuestion = later.findIndex(({ role }) => role === "user")
    const answers = later.slice(0, nextQuestion === -1 ? later.length : nextQuestion)
    const run = question.runId === null ? undefined : Option.getOrUndefined(yield* runs.get(question.runId))
    const asked = run && { assistantId: run.assistantId, plan: decodePlan(run.plan) }
    return { thread, question, earlier, answers, asked }
  })

  /** What a message brought in the place of what its assistant had. */
  const brought = Effect.fnUntraced(function* (assistantId: AssistantId, plan: TurnPlan) {
    const { assistantVersion: version, hosted, tools } = plan
    const found = version === undefined ? Option.none() : yield* assistants.version(assistantId, version)
    const assistant = Option.getOrUndefined(found)?.assistant
    const own = assistant?.tools ?? []
    const had = [...tools, ...own.filter((tool) => hostedMark(tool) && hosted.includes(tool.name))]
    const isOwnPrompt = assistant === undefined || joinedSystemPrompt({ content: "" }, assistant) === plan.system
    const options = askedParts(plan.asked)
    return {
      ...(isSameTools(had, own) ? {} : { toolDefinitions: had }),
      ...(isOwnPrompt ? {} : { instructions: plan.system ?? "" }),
      ...(options === undefined ? {} : { options })
    }
  })

  const fromTurn = Effect.fnUntraced(function* ({ messageId, threadId, ...fields }: CaseOfTurn) {
    const { answers, asked, earlier, question, thread } = yield* findTurn(threadId, messageId)
    const made: EvalCase = {
      ...(yield* fromHand({
        ...fields,
        question: question.content ?? "",
        ...(asked === undefined ? {} : yield* brought(asked.assistantId, asked.plan))
      })),
      // The one that was asked: in a turn that was handed over, it is not the one that answered.
      assistantId: asked?.assistantId ?? answers.at(-1)?.assistant?.id ?? thread.assistantId,
      messages: caseMessages(earlier),
      tools: recordedTools(answers),
      source: { threadId, messageId: question.id }
    }
    return made
  })

  const insert = Effect.fnUntraced(function* (
    cases: ReadonlyArray<EvalCase>,
    isList: boolean,
    answer: Schema.Json,
    idempotency: IdempotencyKey | undefined
  ) {
    const named = new Set(cases.flatMap(({ assistantId, source }) => (source === null ? (assistantId ?? []) : [])))
    for (const assistantId of named)
      if (Option.isNone(yield* assistants.get(assistantId))) return yield* new AssistantNotFound({ assistantId })
    const problems = (yield* Effect.forEach(cases, (each, index) => checked(each, isList ? index : null))).flat()
    if (problems.length > 0) return yield* refuse(problems.slice(0, imports.problems))
    const stored = yield* store.insertCases(cases, settings.mostCases, keptAnswer(idempotency, answer))
    if (stored === "too_many") return yield* new TooManyCases({ limit: settings.mostCases })
    return stored
  })

  const find = Effect.fnUntraced(function* (id: CaseId) {
    const found = yield* store.getCase(id)
    return Option.isSome(found) ? found.value : yield* new CaseNotFound({ caseId: id })
  })

  const calls: CaseCalls = {
    createCase: tracedFn("Evals.createCase")(function* (asked: NewCase | CaseOfTurn, idempotency?: IdempotencyKey) {
      const answered = yield* answeredBefore(runs, idempotency, decodeCase)
      if (answered !== undefined) return answered
      const made =
        "threadId" in asked
          ? yield* fromTurn(yield* accept(readOfTurn(asked)))
          : yield* fromHand(yield* accept(readNew(asked)))
      if (made.question.trim() === "")
        return yield* refuse([{ index: null, path: ["message_id"], message: "The question of this turn has no text." }])
      const stored = yield* insert([made], false, encodeCase(made), idempotency)
      if (stored === "stored") return made
      return yield* firstAnswer(runs, idempotency, decodeCase)
    }),
    importCases: tracedFn("Evals.importCases")(function* (asked: ReadonlyArray<NewCase>, idempotency?: IdempotencyKey) {
      const answered = yield* answeredBefore(runs, idempotency, decodeIds)
      if (answered !== undefined) return answered
      if (asked.length > settings.mostCases) return yield* new TooManyCases({ limit: settings.mostCases })
      const problems: Array<CaseProblem> = []
      const made: Array<EvalCase> = []
      for (const [index, each] of asked.entries()) {
        const read = readNew(each)
        if (Result.isFailure(read)) problems.push(...read.failure.map((problem) => ({ index, ...problem })))
        else made.push(yield* fromHand(read.success))
        if (index % 64 === 63) yield* Effect.yieldNow
      }
      if (problems.length > 0) return yield* refuse(problems.slice(0, imports.problems))
      const ids = made.map(({ id }) => id)
      const stored = yield* insert(made, true, ids, idempotency)
      if (stored === "stored") return ids
      return yield* firstAnswer(runs, idempotency, decodeIds)
    }),
    getCase: find,
    listCases: tracedFn("Evals.listCases")(function* (page: CasePage) {
      const found = yield* store.listCases({ ...page, limit: page.limit + 1 })
      const cases = found.slice(0, page.limit)
      return { cases, next: found.length > cases.length ? (cases.at(-1)?.id ?? null) : null }
    }),
    updateCase: tracedFn("Evals.updateCase")(function* (id: CaseId, change: CaseChange) {
      const before = yield* find(id)
      const {
        expectations = before.expectations,
        name = before.name,
        tags = before.tags
      } = yield* accept(readChange(change))
      const after = { ...before, expectations, name, tags, updatedAt: yield* now }
      const problems = yield* checked(after, null)
      if (problems.length > 0) return yield* refuse(problems)
      if (!(yield* store.replaceCase(after))) return yield* new CaseNotFound({ caseId: id })
      return after
    }),
    removeCase: tracedFn("Evals.removeCase")(function* (id: CaseId) {
      if (!(yield* store.removeCase(id))) return yield* new CaseNotFound({ caseId: id })
    }),
    copyTurn: tracedFn("Evals.copyTurn")(function* (threadId: ThreadId, messageId: MessageId) {
      const { answers, asked, earlier, question } = yield* findTurn(threadId, messageId)
      const given = { instructions: asked?.plan.system, tools: asked?.plan.tools }
      const file = copyAsTest([...earlier, question, ...answers], question.id, given)
      return file ?? (yield* new MessageNotFound({ messageId }))
    })
  }
  return calls
})

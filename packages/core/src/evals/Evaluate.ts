/**
 * Answers and scores cases in a program, without storing anything of them: `evaluate(cases, { kernel })`. The kernel is one of production or one
 * of a test, so the same cases run live or scripted. Each attempt is a turn on a thread of its own, which is removed afterwards.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Principal } from "../access/Principal.ts"
import { AnswersUnusable, type TypedAnswers } from "../answers/Answer.ts"
import type { AnswersRequest } from "../answers/Answers.ts"
import { documentsPartName } from "../documents/DocumentWork.ts"
import type { ExcerptOptions } from "../documents/ExcerptOptions.ts"
import { ModelError } from "../models/ModelError.ts"
import { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { noUsage } from "../primitives/Usage.ts"
import type { AssistantCalls, ThreadCalls } from "../promises/RecordCalls.ts"
import type { OutputsRequest, RunIds, SendRequest } from "../promises/Requests.ts"
import type { TurnReply } from "../turns/TurnReply.ts"
import type { RunReport } from "../turns/TurnUseCases.ts"
import { type Attempt, type CaseResult, failedResult, scoredResult } from "./CaseResult.ts"
import { compare, type Comparison } from "./Comparison.ts"
import { Expectations, shorten } from "./Expectation.ts"
import { gate, type Gate, type GateOptions } from "./Gate.ts"
import { type JudgedTurn, judgedTurn } from "./JudgedTurn.ts"
import { promptHash } from "./PromptHash.ts"
import { readerFor } from "../primitives/ReadGiven.ts"
import type { Scored, ScoringTools } from "./Scorer.ts"
import { scoreAll } from "./Scoring.ts"
import { summarize, type VariantSummary } from "./Summary.ts"
import { recordedOutputs } from "./Recorded.ts"
import type { TestCase } from "./TestCase.ts"

type EvaluatedReply = Pick<TurnReply, "threadId" | "runId" | "status" | "toolCalls">

/** What `evaluate` needs of an open kernel. */
export interface EvaluatedKernel {
  readonly send: (request: SendRequest) => Promise<EvaluatedReply>
  readonly submitToolOutputs: (request: OutputsRequest) => Promise<{ readonly reply: () => Promise<EvaluatedReply> }>
  readonly report: (run: RunIds) => Promise<Pick<RunReport, "run">>
  readonly assistants: Pick<AssistantCalls, "create" | "get" | "remove" | "versions">
  readonly threads: Pick<ThreadCalls, "get" | "import" | "remove">
  /** The room of typed answers, for judges. */
  readonly answers?: { readonly ask: (request: AnswersRequest) => Promise<TypedAnswers> }
}

/** One way to answer the cases: what its messages ask for besides their text. */
export interface Variant extends Omit<SendRequest, "content" | "idempotency" | "sendToModel" | "stream" | "threadId"> {
  readonly name: string
  /** How excerpts of documents are found, for a kernel with documents. */
  readonly retrieval?: ExcerptOptions | undefined
}

/** What the messages of a variant ask for. */
export const variantRequest = <Asked extends Omit<Variant, "name">>({ retrieval, ...request }: Asked) =>
  retrieval === undefined
    ? request
    : { ...request, options: Object.assign({}, request.options, { [documentsPartName]: retrieval }) }

/** What scorers need that the kernel does not have. */
export interface JudgingOptions extends Pick<ScoringTools, "judge" | "scorers"> {
  /** Vectors of texts, for similarity. */
  readonly embed?: ((texts: ReadonlyArray<string>) => Promise<ReadonlyArray<ArrayLike<number>>>) | undefined
}

/** The kernel, the variants and the judge of an evaluation. */
export interface EvaluateOptions<Case extends TestCase = TestCase> extends JudgingOptions {
  readonly kernel: EvaluatedKernel
  /** Default: one, as the kernel answers by itself. */
  readonly variants?: ReadonlyArray<Variant> | undefined
  /** How often each variant answers each case. Default: 1. */
  readonly repeats?: number | undefined
  /** How many attempts are made at once. Default: 4. */
  readonly concurrency?: number | undefined
  /** Called before each attempt. */
  readonly prepare?: ((testCase: Case, variant: Variant) => void | Promise<void>) | undefined
  /** No attempt begins after it was aborted. */
  readonly signal?: AbortSignal | undefined
}

/** The results of all attempts, their summaries, and the gate. */
export interface Evaluation {
  /** In the order of the variants, then of the cases, then of the repeats. */
  readonly results: ReadonlyArray<CaseResult>
  readonly variants: ReadonlyArray<VariantSummary>
  readonly compare: (before: string, after: string) => Comparison
  readonly gate: (options?: GateOptions) => Gate
}

const asItIs: Variant = { name: "now" }

export const evaluate = async <Case extends TestCase>(
  cases: ReadonlyArray<Case>,
  options: EvaluateOptions<Case>
): Promise<Evaluation> => {
  const { concurrency = 4, kernel, repeats = 1, signal, variants = [asItIs] } = options
  checkAsked(cases, { concurrency, names: variants.map(({ name }) => name), repeats })
  const assistant = await kernel.assistants.create({ name: "Evaluation" })
  try {
    const attempts = variants.flatMap((variant) =>
      cases.flatMap((testCase, index) =>
        Array.from({ length: repeats }, (_, repeat) => async () => {
          const request = { ...variant, assistantId: variant.assistantId ?? assistant.id }
          await options.prepare?.(testCase, variant)
          return answerCase(testCase, index, { request, repeat, options })
        })
      )
    )
    const results = await inPool(attempts, concurrency, signal)
    return {
      results,
      variants: summarize(results),
      compare: (before, after) => compare(results, { before, after }),
      gate: (gateOptions) => gate(results, gateOptions)
    }
  } finally {
    await kernel.assistants.remove(assistant.id)
  }
}

const readExpectations = readerFor(Schema.toType(Expectations))

/** Callers in plain JavaScript may give anything, and a misspelled expectation would pass every answer. */
const checkAsked = (
  cases: ReadonlyArray<TestCase>,
  {
    names,
    ...counts
  }: { readonly names: ReadonlyArray<string>; readonly concurrency: number; readonly repeats: number }
): void => {
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) throw new TypeError(`Two variants have the name "${twice}". Give each a name of its own.`)
  for (const [name, count] of Object.entries(counts))
    if (!Number.isInteger(count) || count < 1)
      throw new TypeError(`\`${name}\` is a whole number from 1, not ${count}.`)
  const problems = cases.flatMap(({ expectations = [] }, index) =>
    Result.match(readExpectations(expectations), {
      onFailure: (found) =>
        found.map(({ message, path }) => `${["cases", index, "expectations", ...path].join(".")}: ${message}`),
      onSuccess: () => []
    })
  )
  if (problems.length > 0) throw new TypeError(`These expectations cannot be checked. ${problems.join(" ")}`)
}

/** Runs so many at once, and gives the results in the order of the list. When one fails, no other begins, and those under way are awaited. */
const inPool = async <A>(
  tasks: ReadonlyArray<() => Promise<A>>,
  most: number,
  signal: AbortSignal | undefined
): Promise<ReadonlyArray<A>> => {
  const results: Array<A> = []
  let next = 0
  const work = async () => {
    try {
      for (let index = next++; index < tasks.length; index = next++) {
        signal?.throwIfAborted()
        const task = tasks[index]
        if (task !== undefined) results[index] = await task()
      }
    } finally {
      next = tasks.length
    }
  }
  const working = Array.from({ length: Math.max(1, Math.min(most, tasks.length)) }, work)
  await Promise.allSettled(working)
  await Promise.all(working)
  return results
}

interface Trying {
  readonly request: Variant & { readonly assistantId: string }
  readonly repeat: number
  readonly options: EvaluateOptions<never>
}

const answerCase = async (testCase: TestCase, index: number, trying: Trying): Promise<CaseResult> => {
  const { options, repeat, request } = trying
  const attempt: Attempt = {
    caseId: String(index),
    caseName: testCase.name ?? shorten(testCase.question),
    tags: testCase.tags ?? [],
    variant: request.name,
    repeat
  }
  try {
    const turn = await answerOnce(testCase, request, options.kernel)
    const { scores } = await scoreTurn(testCase.expectations ?? [], turn, options)
    return scoredResult(attempt, turn, scores)
  } catch (error) {
    return failedResult(attempt, error instanceof Error ? error.message : String(error))
  }
}

/** The question as its case has it, with what the variant asks for in its place. */
const caseRequest = <Asked extends Omit<SendRequest, "content">>(
  { instructions, options, question, toolDefinitions }: TestCase,
  request: Asked
): Asked & Pick<SendRequest, "content"> => ({
  ...(toolDefinitions === undefined ? {} : { tools: toolDefinitions }),
  ...(instructions === undefined ? {} : { systemPrompt: instructions }),
  ...request,
  ...(options === undefined ? {} : { options: Object.assign({}, options, request.options) }),
  content: question
})

/** The answer of one variant, on a thread of its own. */
const answerOnce = async (
  { messages = [], tools = [], ...asked }: TestCase,
  { name: _name, ...request }: Trying["request"],
  kernel: EvaluatedKernel
): Promise<JudgedTurn> => {
  const { assistantId } = request
  const before = messages.length === 0 ? null : await kernel.threads.import({ assistantId, messages })
  const thread = before === null ? {} : { threadId: before.id }
  let threadId: string | undefined = before?.id
  try {
    const sent = caseRequest(asked, variantRequest(request))
    let reply = await kernel.send({ ...sent, ...thread })
    threadId = reply.threadId
    const answers = recordedOutputs(tools)
    for (let outputs = answers(reply); outputs !== null; outputs = answers(reply)) {
      const next = await kernel.submitToolOutputs({ threadId, runId: reply.runId, outputs })
      reply = await next.reply()
    }
    return await readTurn(kernel, reply, await instructionsFor(kernel, { ...request, ...sent }))
  } finally {
    if (threadId !== undefined) await kernel.threads.remove(threadId)
  }
}

/** The turn of a reply, from what the kernel has stored of it. */
export const readTurn = async (
  kernel: Pick<EvaluatedKernel, "report" | "threads">,
  { runId, threadId }: Pick<EvaluatedReply, "runId" | "threadId">,
  instructions: string | null
): Promise<JudgedTurn> => {
  const [{ messages }, { run }] = await Promise.all([kernel.threads.get(threadId), kernel.report({ threadId, runId })])
  const end = run.endedAt ?? messages.at(-1)?.createdAt ?? run.createdAt
  const turn = judgedTurn(
    messages.filter((message) => message.runId === runId),
    {
      millis: end.getTime() - run.createdAt.getTime(),
      costUsd: run.usage.costUsd,
      promptHash: await promptHash(instructions)
    }
  )
  if (turn === null) throw new Error("The run has no answer.")
  return turn
}

const instructionsFor = async (
  { assistants }: EvaluatedKernel,
  { assistantId, assistantVersion, systemPrompt }: Omit<Trying["request"], "name">
): Promise<string | null> => {
  if (systemPrompt !== undefined) return systemPrompt
  if (assistantVersion === undefined) return (await assistants.get(assistantId)).systemPrompt
  return (await assistants.versions.get(assistantId, assistantVersion)).assistant.systemPrompt
}

/** Scores of a turn, without Effect. Rejects with `ScoringFailed`. */
export const scoreTurn = (
  expectations: NonNullable<TestCase["expectations"]>,
  turn: JudgedTurn,
  { embed, judge, kernel, scorers }: JudgingOptions & { readonly kernel?: Pick<EvaluatedKernel, "answers"> | undefined }
): Promise<Scored> => {
  const answers = kernel?.answers
  const tools: ScoringTools = {
    judge,
    scorers,
    ask: answers && ((request) => attempt(() => answers.ask(request))),
    embedding: embed && { provider: "host", model: "embed" },
    embed:
      embed &&
      ((texts) =>
        Effect.map(
          attempt(() => embed(texts)),
          (vectors) => ({
            vectors: vectors.map((vector) => Float32Array.from(vector)),
            usage: noUsage
          })
        ))
  }
  return Effect.runPromise(Principal.provide("evaluation")(scoreAll(tools, expectations, turn)))
}

/** A function of the host has thrown. */
class HostFailed extends Schema.TaggedError<HostFailed>()("HostFailed", { cause: Schema.Unknown }) {
  override get message() {
    return this.cause instanceof Error ? this.cause.message : String(this.cause)
  }
}

/** What the kernel fails with stays as it is: it says whether a repeat makes sense, and what it has cost. */
type Failure = AnswersUnusable | ModelError | StoreUnavailable | HostFailed

const isKernels = (cause: unknown): cause is Exclude<Failure, HostFailed> =>
  cause instanceof AnswersUnusable || cause instanceof ModelError || cause instanceof StoreUnavailable

const attempt = <A>(call: () => Promise<A>): Effect.Effect<A, Failure> =>
  Effect.tryPromise({ try: call, catch: (cause) => (isKernels(cause) ? cause : new HostFailed({ cause })) })

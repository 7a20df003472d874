/**
 * How typed answers join a turn. When a message brings questions (`TurnRequest.options.answers`, the object of the wire's
 * `system_one`), this part answers instead of a conversation model. The answers are kept with the message, where outcomes find them. They
 * are also its text, so that any conversation model can continue the thread. A review that changes this text takes the kept answers with it.
 *
 * Every refusal comes before the turn is stored and before another part listens, because listening costs money.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Catalog } from "../catalog/Catalog.ts"
import { ModelError } from "../models/ModelError.ts"
import type { ModelInfo } from "../models/ModelInfo.ts"
import { Providers } from "../models/Provider.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { roomFor } from "../prompts/PromptAssembly.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import type { History } from "../threads/Message.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import { TurnRefused } from "../turns/TurnErrors.ts"
import type { PartAnswer, PartDecision, TurnCase, TurnPart } from "../turns/TurnPart.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import { chooseModel } from "../turns/TurnPlan.ts"
import { TurnSettings } from "../turns/TurnSettings.ts"
import { AnswerSetId, answersPartName, TypedAnswers } from "./Answer.ts"
import { textOfState } from "./AnswerContext.ts"
import { Answers, type AskError } from "./Answers.ts"
import { answersLayer } from "./AnswersLayer.ts"
import { DocumentSummaries, type DocumentSummary } from "../prompts/DocumentSummaries.ts"
import type { OutcomeStore } from "./OutcomeStore.ts"
import { Questions } from "./Question.ts"
import { rewriteOptions } from "./RewrittenAsk.ts"
import { messagesWithin } from "./TypedContext.ts"
import { checkTypedTurn, isTypedTurn, type TurnProblem } from "./TypedTurn.ts"

const AnswersPlan = Schema.Struct({
  questions: Questions,
  state: Schema.NullOr(Schema.Json),
  system: Schema.NullOr(Schema.String)
})
type AnswersPlan = typeof AnswersPlan.Type

const makePart = Effect.gen(function* () {
  const answers = yield* Answers
  const readSummaries = yield* DocumentSummaries
  const counter = yield* TokenCounter
  const providers = yield* Providers
  const { assumedContextLimit } = yield* TurnSettings

  /** Tokens that are left for the conversation. */
  const remainingRoom = (info: ModelInfo, { questions, state, system }: AnswersPlan, summaries: string): number => {
    const fixed = [JSON.stringify(questions), state === null ? "" : textOfState(state), system ?? "", summaries]
    return fixed.reduce((room, text) => room - counter.count(text), roomFor(info, assumedContextLimit).forPrompt)
  }

  const findProvider = (turn: TurnCase) => providers.all.find(({ id }) => id === turn.provider)

  const planAnswers = (turn: TurnCase): Effect.Effect<AnswersPlan | null, TurnRefused> => {
    const checked = checkTypedTurn(turn, findProvider(turn))
    if (checked === null) return Effect.succeed(null)
    if (Result.isFailure(checked)) return refuse(checked.failure)
    return Effect.succeed({ ...checked.success, system: turn.system })
  }

  const decide = Effect.fnUntraced(function* (turn: TurnCase) {
    const plan = yield* planAnswers(turn)
    if (plan === null) return null
    const { model, provider } = yield* resolveModel(turn, providers)
    const info = yield* answers.describe(provider, model)
    if (info === undefined) return yield* refuse([noSuchProvider])
    const written = turn.content.trim() === "" && plan.state !== null ? textOfState(plan.state) : null
    const needed = counter.count(written ?? turn.content)
    if (needed > remainingRoom(info, plan, "")) {
      return yield* refuse([{ path: [], message: "State, questions and message do not fit the model. Shorten them." }])
    }
    const decision: PartDecision<AnswersPlan> = {
      plan,
      answers: { provider, model, info },
      ...(written === null ? {} : { content: written }),
      ...(turn.request.jsonOutput === true ? { ignored: [isJsonAlready] } : {})
    }
    return decision
  })

  const answer = Effect.fnUntraced(function* (plan: AnswersPlan, turn: LiveTurn, history: History) {
    const { answerId, model, provider, runId, threadId } = turn
    const info = yield* answers.describe(provider, model)
    const documentSummaries = yield* rewrittenSummaries(turn, yield* readSummaries(turn))
    const messages =
      info && messagesWithin(history, runId, remainingRoom(info, plan, JSON.stringify(documentSummaries)))
    if (messages === undefined) return yield* new ModelError({ reason: "context_too_long", provider, model })
    const { questions, state } = plan
    const asked = { questions, state, provider, model, messages, systemPrompt: plan.system, documentSummaries }
    const given = yield* answers
      .ask({ ...asked, conversationId: threadId })
      .pipe(Effect.mapError((error) => modelErrorFromAsk(error, provider, model)))
    const supplement = yield* Effect.orDie(encode({ ...given, id: AnswerSetId.make(answerId) }))
    const { model: answeredBy, usage } = given
    const reply: PartAnswer = { content: JSON.stringify(given.answers), usage, model: answeredBy, supplement }
    return reply
  })

  const part: TurnPart<AnswersPlan> = {
    name: answersPartName,
    plan: AnswersPlan,
    concerns: (turn) => isTypedTurn(turn, findProvider(turn)),
    rewriteOptions,
    refuse: (turn) => Effect.asVoid(planAnswers(turn)),
    decide,
    answer
  }
  return part
})

/** Joins the turns of a kernel and provides `Answers`: a layer over `Kernel.layer`. */
export const answersPart: Layer.Layer<Answers, never, Catalog | OutcomeStore | Providers | ThreadStore | TurnParts> =
  Layer.effectDiscard(
    Effect.gen(function* () {
      const parts = yield* TurnParts
      yield* parts.register(yield* makePart)
    })
  ).pipe(Layer.provideMerge(answersLayer))

const encode = Schema.encodeEffect(Schema.toCodecJson(TypedAnswers))

const resolveModel = ({ assistant, request }: TurnCase, providers: typeof Providers.Service) => {
  const chosen = chooseModel(request, assistant, providers)
  return Result.isSuccess(chosen)
    ? Effect.succeed(chosen.success)
    : refuse([{ path: ["model"], message: "Name the model that is to answer." }])
}

const noSuchProvider: TurnProblem = {
  path: ["provider"],
  message: "This provider is not registered or gives no answers. Choose a provider that does."
}

const isJsonAlready = { option: "json_output", because: "typed answers are JSON already" }

const refuse = (problems: ReadonlyArray<TurnProblem>): Effect.Effect<never, TurnRefused> =>
  Effect.fail(
    new TurnRefused({
      part: answersPartName,
      reason: "invalid",
      problems: problems.map(({ message, path }) => ({ path, message }))
    })
  )

/** Converts an error to the model error with which the turn fails. */
const modelErrorFromAsk = (error: AskError, provider: string, model: string): ModelError => {
  switch (error._tag) {
    case "ModelError":
      return error
    case "AnswersUnusable": {
      const { problem, usage } = error
      return new ModelError({ reason: "malformed", code: problem, provider, model, usage })
    }
    case "StoreUnavailable":
      return new ModelError({ reason: "unknown", code: "store_unavailable", shouldRetry: true, provider, model })
    case "NoAnswersFrom":
    case "QuestionsMalformed":
      // Provider and questions were checked when the turn was decided, so another version of the kernel decided it.
      return new ModelError({ reason: "invalid_request", provider, model })
  }
}

/** A summary that could not be rewritten is left out. */
const rewrittenSummaries = ({ rewriting }: LiveTurn, found: ReadonlyArray<DocumentSummary>) =>
  rewriting === null
    ? Effect.succeed(found)
    : Effect.map(
        Effect.forEach(found, (each) =>
          Effect.match(rewriting.rewrite(each.summary), {
            onFailure: () => [],
            onSuccess: (summary) => [{ ...each, summary }]
          })
        ),
        (all) => all.flat()
      )

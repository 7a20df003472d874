/**
 * Steps 2 and 3 of a turn: what the parts hear, and what is to be done. Every refusal that depends on the request comes from here, before
 * anything is stored.
 */
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type { Principal } from "../access/Principal.ts"
import type { Assistant } from "../assistants/Assistant.ts"
import { describeModel } from "../models/ModelInfo.ts"
import { checkNames, type NameTooLong } from "../models/NameTooLong.ts"
import type { ModelNotNamed, ProviderNotFound } from "../models/Provider.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { ContextTooLong } from "../prompts/ContextTooLong.ts"
import { checkRoom, preambleOf, roomFor } from "../prompts/PromptAssembly.ts"
import type { Answerer } from "./Leg.ts"
import type { Draft } from "./Draft.ts"
import {
  decideParts,
  listen,
  type PartError,
  type PartsDecided,
  refuseAbsentParts,
  refuseAbsentTools
} from "./PartDecisions.ts"
import type { Place } from "./Place.ts"
import type { EmptyMessage, ToolNameTaken } from "./TurnErrors.ts"
import type { TurnCase } from "./TurnPart.ts"
import { chooseModel, planTurn, systemPromptOf, type TurnPlan } from "./TurnPlan.ts"
import type { TurnRequest } from "./TurnRequest.ts"
import type { Workshop } from "./Workshop.ts"

/** What is to be done, and all that is needed to begin it. */
export interface Decided {
  readonly plan: TurnPlan
  readonly parts: PartsDecided
  readonly model: Answerer
  readonly content: string
  /** Of the user's message, what parts keep with it included. */
  readonly messageTokens: number
  readonly apiKey: Redacted.Redacted<string> | null
}

export type DecideError =
  | PartError
  | EmptyMessage
  | NameTooLong
  | ToolNameTaken
  | ContextTooLong
  | ModelNotNamed
  | ProviderNotFound

export const decide = Effect.fnUntraced(function* (
  workshop: Workshop,
  request: TurnRequest,
  place: Place,
  draft: Draft
): Effect.fn.Return<Decided, DecideError, Principal> {
  const { counter, settings } = workshop
  const { assistant } = place
  const registered = workshop.parts()
  yield* Effect.fromResult(checkNames({ provider: request.provider, model: request.model }))
  yield* refuseAbsentParts(registered, request.options ?? {})
  const resolved = yield* Effect.result(resolveModel(workshop, request, assistant))
  const turn = caseOf(workshop, request, place, resolved)
  const heard = yield* listen(registered, turn, draft.listening)
  const parts = yield* decideParts(registered, { ...turn, content: heard.content }, heard.supplements)
  const model = parts.answers === null ? yield* Effect.fromResult(resolved) : answererOf(parts.answers)
  const hosted = workshop.hosted()
  yield* refuseAbsentTools(turn, parts.planned, hosted)
  const content = heard.content.trim() === "" ? (parts.content ?? heard.content) : heard.content
  const plan = yield* Effect.fromResult(planTurn({ request, assistant, content, model, hosted, parts }))
  const messageTokens = counter.count(content) + parts.tokens
  if (plan.saves !== true && parts.answers === null) {
    const offered = [...parts.tools, ...hosted].map((tool) => tool.definition)
    const tools = [...offered.filter((tool) => plan.hosted.includes(tool.name)), ...plan.tools]
    const room = roomFor(model.info, settings.assumedContextLimit)
    const preamble = preambleOf(plan.system, tools, counter)
    yield* Effect.fromResult(checkRoom(preamble, messageTokens, room, model.model))
  }
  return { plan, parts, model, content, messageTokens, apiKey: yield* findKey(workshop, model.provider) }
})

const findKey = (
  { providerKeys }: Workshop,
  provider: string
): Effect.Effect<Decided["apiKey"], StoreUnavailable, Principal> => providerKeys.find(provider)

const resolveModel = Effect.fnUntraced(function* ({ providers }: Workshop, request: TurnRequest, assistant: Assistant) {
  const { model, provider } = yield* Effect.fromResult(chooseModel(request, assistant, providers))
  return yield* providers.resolve(provider, model)
})

const caseOf = (
  { providers }: Workshop,
  request: TurnRequest,
  { assistant, hasDocuments, isNewThread, summary, thread }: Place,
  resolved: Result.Result<Answerer, ProviderNotFound | ModelNotNamed>
): TurnCase => ({
  request,
  options: undefined,
  assistant,
  thread,
  isNewThread,
  hasDocuments,
  summary,
  content: request.content,
  system: systemPromptOf(request, assistant),
  provider: request.provider ?? assistant.provider ?? providers.defaults.provider,
  model: Result.isSuccess(resolved) ? resolved.success.model : (request.model ?? null),
  info: Result.isSuccess(resolved) ? resolved.success.info : null
})

/** A part answers: no driver is needed. */
const answererOf = ({ info, model, provider }: NonNullable<PartsDecided["answers"]>): Answerer => ({
  provider,
  model,
  info: info ?? describeModel({ name: model, provider, modelType: "llm" }),
  chat: null,
  wire: undefined
})

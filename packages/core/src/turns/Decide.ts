/**
 * Steps 2 and 3 of a turn: the parts listen to the message, and the plan is made. Every refusal that depends on the request happens here,
 * before anything is stored.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type { Principal } from "../access/Principal.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import { describeModel } from "../models/ModelInfo.ts"
import { checkNames, type NameTooLong } from "../models/NameTooLong.ts"
import type { ModelNotNamed, ProviderNotFound } from "../models/Provider.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import type { ContextTooLong } from "../prompts/ContextTooLong.ts"
import { checkRoom } from "../prompts/PromptAssembly.ts"
import { HostedTools, withoutTaken } from "../tools/HostedTool.ts"
import type { Draft } from "./Draft.ts"
import { type Answerer, type PlannedLeg, planLeg } from "./Leg.ts"
import {
  checkTools,
  concernedParts,
  consultParts,
  type PartsDecided,
  refuseAbsentParts,
  type StoredTexts
} from "./PartDecisions.ts"
import type { PartError } from "./RegisteredPart.ts"
import type { Place } from "./Place.ts"
import type { EmptyMessage, ToolNameTaken } from "./TurnErrors.ts"
import { TurnModels } from "./TurnModels.ts"
import type { TurnCase } from "./TurnPart.ts"
import { TurnParts } from "./TurnParts.ts"
import { chooseModel, planTurn, joinedSystemPrompt } from "./TurnPlan.ts"
import type { TurnRequest } from "./TurnRequest.ts"
import { TurnSettings } from "./TurnSettings.ts"

/** The decided turn, with all data that is needed to begin it. */
export interface Decided {
  readonly leg: PlannedLeg
  readonly parts: PartsDecided
  readonly content: string
  /** Tokens of the user's message, including what parts keep with it. */
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

export class Decide extends Context.Service<
  Decide,
  {
    readonly decide: (
      request: TurnRequest,
      place: Place,
      draft: Draft,
      stored: StoredTexts | null
    ) => Effect.Effect<Decided, DecideError, Principal>
  }
>()("@colloquy/core/turns/Decide") {
  static readonly layer: Layer.Layer<Decide, never, TurnModels | TurnParts | HostedTools> = Layer.effect(
    Decide,
    Effect.gen(function* () {
      const models = yield* TurnModels
      const registered = yield* TurnParts
      const hosted = yield* HostedTools
      const keys = yield* ProviderKeys
      const counter = yield* TokenCounter
      const { assumedContextLimit } = yield* TurnSettings

      const resolveModel = (request: TurnRequest, { assistant }: Place) => {
        const chosen = chooseModel(request, assistant, models)
        if (Result.isFailure(chosen)) return Effect.fail(chosen.failure)
        return models.resolve(chosen.success.provider, chosen.success.model)
      }

      const turnCase = (
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
        rewrite: null,
        system: joinedSystemPrompt(request, assistant),
        provider: request.provider ?? assistant.provider ?? models.defaults.provider,
        model: Result.isSuccess(resolved) ? resolved.success.model : (request.model ?? null),
        info: Result.isSuccess(resolved) ? resolved.success.info : null
      })

      const decide = Effect.fnUntraced(function* (
        request: TurnRequest,
        place: Place,
        draft: Draft,
        stored: StoredTexts | null
      ): Effect.fn.Return<Decided, DecideError, Principal> {
        const all = registered.all()
        yield* Effect.fromResult(checkNames({ provider: request.provider, model: request.model }))
        if (request.options !== undefined) yield* refuseAbsentParts(all, request.options)
        const resolved = yield* Effect.result(resolveModel(request, place))
        const turn = turnCase(request, place, resolved)
        const consulted = yield* consultParts(concernedParts(all, turn), turn, draft.listening, stored)
        const { heard, parts } = consulted
        const model = parts.answers === null ? yield* Effect.fromResult(resolved) : partAnswerer(parts.answers)
        const toolsOfHost = withoutTaken(hosted.all(), [
          ...parts.planned.flatMap((part) => part.tools.map(({ definition }) => definition)),
          ...(request.tools ?? place.assistant.tools ?? [])
        ])
        yield* checkTools(turn, parts.planned, toolsOfHost)
        const content = heard.trim() === "" ? (parts.content ?? heard) : heard
        const { assistant } = place
        const plan = yield* Effect.fromResult(
          planTurn({ request: consulted.request, assistant, content, model, hosted: toolsOfHost, parts })
        )
        const leg = planLeg({ plan, model, parts: parts.planned }, toolsOfHost, { counter, assumedContextLimit })
        const messageTokens = counter.count(content) + parts.tokens
        if (plan.saves !== true && parts.answers === null) {
          yield* Effect.fromResult(checkRoom(leg.preamble, messageTokens, leg.room, model.model))
        }
        return { leg, parts, content, messageTokens, apiKey: yield* keys.find(model.provider) }
      })

      return Decide.of({ decide })
    })
  )
}

/** When a part answers, no model driver is needed. */
const partAnswerer = ({ info, model, provider }: NonNullable<PartsDecided["answers"]>): Answerer => ({
  provider,
  model,
  info: info ?? describeModel({ name: model, provider, modelType: "llm" }),
  chat: null,
  wire: undefined
})

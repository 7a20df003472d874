/**
 * How a turn goes on with another assistant: its plan with that assistant's instructions, model and tools. The options of the message for
 * parts (memory, search) stay, and each part may change its own plan (`TurnPart.handOver`).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import { ProviderKeys } from "../access/ProviderKeys.ts"
import type { Assistant } from "../assistants/Assistant.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import type { AssistantId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { HostedTools, withoutTaken } from "../tools/HostedTool.ts"
import { hostedMark } from "../tools/ToolDefinition.ts"
import { type PlannedLeg, planLeg } from "./Leg.ts"
import { checkTools } from "./PartDecisions.ts"
import { plannedParts } from "./PlannedParts.ts"
import { TurnModels } from "./TurnModels.ts"
import { TurnParts } from "./TurnParts.ts"
import { guardNames } from "./Rewriting.ts"
import { chooseModel, joinedSystemPrompt, type TurnPlan } from "./TurnPlan.ts"
import { TurnSettings } from "./TurnSettings.ts"

/** At most so many times in one leg, so that two assistants do not send a user to and fro. */
export const mostHandOvers = 4

/** The text goes to the model that wanted to hand over. */
export class HandOverRefused extends Schema.TaggedError<HandOverRefused>()("HandOverRefused", {
  message: Schema.String
}) {}

export interface HandedLeg {
  readonly assistant: Assistant
  readonly leg: PlannedLeg
  readonly apiKey: Redacted.Redacted<string> | null
}

export class HandOvers extends Context.Service<
  HandOvers,
  {
    /** `isOwn`: it is the thread's own assistant. */
    readonly plan: (
      before: TurnPlan,
      assistantId: AssistantId,
      isOwn: boolean
    ) => Effect.Effect<HandedLeg, HandOverRefused | StoreUnavailable, Principal>
  }
>()("@colloquy/core/turns/HandOvers") {
  static readonly layer: Layer.Layer<HandOvers, never, AssistantStore | TurnModels | TurnParts | HostedTools> =
    Layer.effect(
      HandOvers,
      Effect.gen(function* () {
        const assistants = yield* AssistantStore
        const models = yield* TurnModels
        const registered = yield* TurnParts
        const hosted = yield* HostedTools
        const keys = yield* ProviderKeys
        const counter = yield* TokenCounter
        const { assumedContextLimit } = yield* TurnSettings
        const refused = ({ message }: { readonly message: string }) => new HandOverRefused({ message })

        const plan = Effect.fnUntraced(function* (before: TurnPlan, assistantId: AssistantId, isOwn: boolean) {
          const found = yield* assistants.get(assistantId)
          if (Option.isNone(found)) return yield* new HandOverRefused({ message: "That assistant was deleted." })
          const assistant = found.value
          const chosen = yield* Effect.mapError(Effect.fromResult(chooseModel({}, assistant, models)), refused)
          const model = yield* Effect.mapError(models.resolve(chosen.provider, chosen.model), refused)
          const changed = registered.all().flatMap((part) => {
            const next = part.handOver(assistant, isOwn)
            return next === null ? [] : [[part.name, next] as const]
          })
          const plans = { ...before.parts, ...Object.fromEntries(changed) }
          const parts = yield* plannedParts(registered.all(), plans)
          const own = (assistant.tools ?? []).filter((tool) => !hostedMark(tool))
          const partTools = parts.flatMap((part) => part.tools)
          const toolsOfHost = withoutTaken(hosted.all(), [...partTools.map(({ definition }) => definition), ...own])
          yield* Effect.mapError(
            checkTools({ assistant, request: { content: "", tools: own } }, parts, toolsOfHost),
            refused
          )
          const { provider } = model
          const { contextLimit, name, supportsThinking } = model.info
          const turn = { assistantId, provider, contextLimit, metadata: null, jsonOutput: before.jsonOutput }
          const names = [...partTools, ...toolsOfHost]
            .filter((tool) => tool.offered?.(turn) ?? true)
            .map(({ definition }) => definition.name)
          const { options: _, ...kept } = before
          // A forced call was wanted of the first model call of the run.
          const { toolChoice: __, ...options } = assistant.modelOptions ?? {}
          const guards = [...new Set([...(before.guards ?? []), ...guardNames(parts)])]
          const next: TurnPlan = {
            ...kept,
            handedTo: assistantId,
            assistantVersion: assistant.version,
            provider,
            model: name,
            system: joinedSystemPrompt({ content: "" }, assistant),
            tools: own.filter((tool) => !names.includes(tool.name)),
            hosted: [...new Set(names)],
            thinking: supportsThinking === false ? null : before.thinking,
            routing: provider === before.provider ? before.routing : null,
            ...(Object.keys(options).length === 0 ? {} : { options }),
            ...(Object.keys(plans).length === 0 ? {} : { parts: plans }),
            ...(guards.length === 0 ? {} : { guards })
          }
          const leg = planLeg({ plan: next, model, parts }, toolsOfHost, { counter, assumedContextLimit })
          return { assistant, leg, apiKey: yield* keys.find(provider) }
        })

        return HandOvers.of({ plan })
      })
    )
}

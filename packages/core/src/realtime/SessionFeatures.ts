/**
 * The features that the service adds to a session: the host's tools, and the parts of turns that join sessions (memory, documents, web
 * search, image and video generation). A part decides as in a turn, from the selection of the first frame. It joins by its `session` step;
 * a selected part without that step joins by its tools.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { InsufficientCredit } from "../metering/Metering.ts"
import type { ModelInfo } from "../models/ModelInfo.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { fixedTools, type HostedTool, hostToolsName, withoutTaken } from "../tools/HostedTool.ts"
import type { OfferedTool } from "../turns/Leg.ts"
import { checkTools, decideParts } from "../turns/PartDecisions.ts"
import type { Place } from "../turns/Place.ts"
import type { PlannedPart, RegisteredPart } from "../turns/RegisteredPart.ts"
import { type FollowUpOrder, readOrders } from "../runs/FollowUp.ts"
import type { SessionExchange } from "../turns/TurnPart.ts"
import type { ServiceSelection, SessionRequest } from "./Frames.ts"

export class FeatureRefused extends Schema.TaggedError<FeatureRefused>()("FeatureRefused", {
  /** Says what to change in the first frame. */
  reason: Schema.String
}) {
  override get message() {
    return this.reason
  }
}

export interface SessionExtras {
  readonly tools: ReadonlyArray<OfferedTool>
  /** Appended to the assistant's instructions. */
  readonly instructions: string | null
  /** The follow-ups of an exchange, stored with its messages. */
  readonly followUps: (exchange: SessionExchange) => Effect.Effect<ReadonlyArray<FollowUpOrder>>
}

export interface SessionFeatures {
  readonly prepare: (
    request: SessionRequest,
    place: Place,
    info: ModelInfo | null
  ) => Effect.Effect<SessionExtras, FeatureRefused | InsufficientCredit | StoreUnavailable, Principal>
}

export interface FeatureSources {
  readonly hostTools: () => ReadonlyArray<HostedTool>
  readonly parts: () => ReadonlyArray<RegisteredPart>
}

export const makeSessionFeatures = ({ hostTools, parts }: FeatureSources): SessionFeatures => ({
  prepare: Effect.fnUntraced(function* (request, place, info) {
    const { assistant, hasDocuments, isNewThread, summary, thread } = place
    const options = selectedOptions(request.selection)
    const joining = parts().filter((part) => part.has("session") || options[part.name] !== undefined)
    const turn = {
      request: { content: "", options, ...(request.tools === null ? {} : { tools: request.tools }) },
      options: undefined,
      assistant,
      thread,
      summary,
      isNewThread,
      hasDocuments,
      content: "",
      rewrite: null,
      system: request.systemPrompt ?? assistant.systemPrompt,
      provider: request.provider,
      model: request.model,
      info
    }
    const guard = parts().find((part) => (part.has("rewrite") || part.has("review")) && !part.has("session"))
    if (guard !== undefined) {
      const reason = `The part "${guard.name}" of this service checks what is said before it is told, which cannot be done in a voice session.`
      return yield* new FeatureRefused({ reason })
    }
    const absent = Object.keys(options).find((name) => !joining.some((part) => part.name === name))
    if (absent !== undefined) {
      return yield* new FeatureRefused({ reason: `${titles[absent] ?? absent} is not installed on this service.` })
    }
    const clientTools = request.tools ?? assistant.tools ?? []
    const toolsOfHost = (joined: ReadonlyArray<PlannedPart>) => {
      const partTools = joined.flatMap(({ tools }) => tools.map(({ definition }) => definition))
      return withoutTaken(hostTools(), [...partTools, ...clientTools])
    }
    const { planned } = yield* decideParts(joining, turn, []).pipe(
      Effect.tap((decided) => checkTools(turn, decided.planned, toolsOfHost(decided.planned))),
      Effect.catchTag("TurnRefused", ({ part, problems }) => {
        const reasons = problems.map(({ message, path }) =>
          path.length === 0 ? message : `${[part, ...path].join(".")}: ${message}`
        )
        return Effect.fail(new FeatureRefused({ reason: reasons.join(" ") }))
      })
    )
    const shares = yield* Effect.forEach(planned, (part) =>
      Effect.map(part.session(assistant.id), (share) => ({ name: part.name, share }))
    )
    const offeredIn = {
      assistantId: assistant.id,
      provider: request.provider,
      contextLimit: info?.contextLimit ?? null,
      metadata: null,
      jsonOutput: false
    }
    const offered = toolsOfHost(planned).filter((tool) => tool.offered?.(offeredIn) ?? true)
    const taken = [...fixedTools([...offered, ...shares.flatMap(({ share }) => share.tools)]), ...clientTools]
    const texts = shares.flatMap(({ share }) => share.instructions ?? [])
    return {
      tools: [
        ...offered.map((tool) => ({ tool, part: hostToolsName })),
        ...shares.flatMap(({ name, share }) => withoutTaken(share.tools, taken).map((tool) => ({ tool, part: name })))
      ],
      instructions: texts.length === 0 ? null : texts.join("\n\n"),
      followUps: (exchange) =>
        Effect.map(
          Effect.forEach(shares, ({ name, share }) => readOrders(name, () => share.followUps?.(exchange) ?? [])),
          (orders) => orders.flat()
        )
    }
  })
})

/** The selections of a first frame, as the subjects of a sentence. */
const titles: Readonly<Record<string, string>> = {
  memory: "Memory",
  search: "Web search",
  image: "Image generation",
  video: "Video generation"
}

/** The options of the parts, as a message would contain them. */
const selectedOptions = ({ image, memory, memoryPro, video, webSearch }: ServiceSelection): Schema.JsonObject => {
  const isPro = memoryPro !== "off"
  const mode = isPro ? memoryPro : memory
  return {
    ...(mode === "off" ? {} : { memory: { mode, pro: isPro } }),
    ...(webSearch ? { search: { mode: "Auto" } } : {}),
    ...(image === null ? {} : { image: mediaOptions(image) }),
    ...(video === null ? {} : { video: mediaOptions(video) })
  }
}

const mediaOptions = ({ config, model, provider }: NonNullable<ServiceSelection["image"]>): Schema.JsonObject => ({
  provider,
  model,
  ...(config === null ? {} : { config })
})

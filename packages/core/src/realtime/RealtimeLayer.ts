/**
 * The whole wing as one layer. It is a separate module, so that code that only names a use case (the HTTP API) does not import sessions.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AssistantStore } from "../assistants/AssistantStore.ts"
import { Catalog } from "../catalog/Catalog.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import type { Providers } from "../models/Provider.ts"
import type { QuotaStore } from "../metering/QuotaStore.ts"
import type { UsageLedger } from "../metering/UsageLedger.ts"
import type { FollowUps } from "../runs/FollowUps.ts"
import type { TurnParts } from "../turns/TurnParts.ts"
import type { HostedTools } from "../tools/HostedTool.ts"
import { RealtimeModels } from "./RealtimeModel.ts"
import { RealtimeSessions } from "./RealtimeSessions.ts"
import type { SessionStore } from "./SessionStore.ts"
import { Tickets, type TicketStore } from "./Tickets.ts"

const catalogued = Layer.effectDiscard(
  Effect.gen(function* () {
    const { all } = yield* RealtimeModels
    yield* (yield* Catalog).add(all.flatMap(({ models }) => models))
  })
)

/** Both use cases of the wing, over the kernel's use cases and the ports; its models are added to the catalogue. */
export const layer: Layer.Layer<
  RealtimeSessions | Tickets,
  never,
  | RealtimeModels
  | SessionStore
  | TicketStore
  | Catalog
  | AssistantStore
  | ThreadStore
  | Providers
  | HostedTools
  | TurnParts
  | FollowUps
  | QuotaStore
  | UsageLedger
> = Layer.merge(RealtimeSessions.layer, catalogued).pipe(Layer.provideMerge(Tickets.layer))

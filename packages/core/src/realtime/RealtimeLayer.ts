/** All of the wing as one layer. It is a module of its own, so that those who only name a use case (the HTTP API) do not carry sessions. */
import * as Layer from "effect/Layer"
import type { Keys } from "../access/Keys.ts"
import type { Assistants } from "../assistants/Assistants.ts"
import type { AssistantStore } from "../assistants/AssistantStore.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import type { HostedTools } from "../tools/HostedTool.ts"
import type { RealtimeModels } from "./RealtimeModel.ts"
import { RealtimeSessions } from "./RealtimeSessions.ts"
import type { SessionStore } from "./SessionStore.ts"
import { Tickets, type TicketStore } from "./Tickets.ts"

/** Both use cases of the wing, over the kernel's own and the ports. */
export const layer: Layer.Layer<
  RealtimeSessions | Tickets,
  never,
  RealtimeModels | SessionStore | TicketStore | Keys | Assistants | AssistantStore | ThreadStore | HostedTools
> = RealtimeSessions.layer.pipe(Layer.provideMerge(Tickets.layer))

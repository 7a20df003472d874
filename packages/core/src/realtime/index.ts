/**
 * The wing `realtime`: a thread on a native audio model. A host provides `RealtimeModels`, the stores, and puts `RealtimeSessions` behind
 * the socket of `@colloquy/ws`.
 */
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

export type { ClientInput, ClientSocket, Credentials } from "./ClientSocket.ts"
export {
  AudioFormat,
  bytesPerSecond,
  ClientFrame,
  type CloseReason,
  ErrorCode,
  nothingSelected,
  ServiceEvent,
  ServiceSelection,
  SessionRequest,
  SessionToolOutput
} from "./Frames.ts"
export {
  type CallOutput,
  type Cut,
  type PreparedSession,
  RealtimeCapabilities,
  type RealtimeModel,
  RealtimeModels,
  type Refusal,
  type SessionSetup,
  SetupRefused,
  type SpokenMessage,
  type VendorCommand,
  type VendorEvent,
  type VendorLink,
  type VendorListener,
  VendorUnavailable
} from "./RealtimeModel.ts"
export { RealtimeSessions } from "./RealtimeSessions.ts"
export { FeatureRefused, hostTools, type SessionExtras, SessionFeatures } from "./SessionFeatures.ts"
export { defaultSessionLimits, SessionLimits } from "./SessionLimits.ts"
export { type OpenOutcome, SessionCharge, type SessionLease, SessionStore, type SessionWrite } from "./SessionStore.ts"
export {
  type IssuedTicket,
  OriginMismatch,
  TicketInvalid,
  TicketRecord,
  type TicketRequest,
  Tickets,
  TicketStore
} from "./Tickets.ts"

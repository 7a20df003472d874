/**
 * The wing `realtime`: a thread with a native audio model. A host provides `RealtimeModels` and the stores, and gives `RealtimeSessions` to
 * the socket of `@colloquy/ws`.
 */
import { wingLayers } from "../primitives/WingLayer.ts"
import { layer } from "./RealtimeLayer.ts"
import { SessionLimits } from "./SessionLimits.ts"

export type { ClientInput, ClientSocket, Credentials } from "./ClientSocket.ts"
export { type Conversation, emptyConversation, entryText, hear as noteEvent, heardPart } from "./Conversation.ts"
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
  SessionSettings,
  SessionToolOutput
} from "./Frames.ts"
export {
  type CallOutput,
  type Cut,
  type ModelSetup,
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
  VendorUnavailable,
  VoicePrices,
  VoiceTimes
} from "./RealtimeModel.ts"
export { RealtimeSessions } from "./RealtimeSessions.ts"
export { defaultSessionLimits, type SessionLimits } from "./SessionLimits.ts"
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

/** Over `Kernel.layer` and `RealtimeModels.layer`: `Realtime.layer({ session: "10 minutes" })`. It gives `RealtimeSessions` and `Tickets`. */
export const Realtime = wingLayers(SessionLimits, layer, {
  positive: [
    "firstFrame",
    "waitingOfOwner",
    "session",
    "idle",
    "inputBytes",
    "opening",
    "stuck",
    "lease",
    "vendorBuffer"
  ]
})

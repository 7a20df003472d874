/**
 * The seam between a session and the connection of its client: `@colloquy/ws` puts a WebSocket behind it, the test kit two arrays. All of
 * it is synchronous, because audio goes through here.
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { TooManyFailedKeys } from "../access/Authentication.ts"
import type { InvalidKey } from "../access/Keys.ts"
import type { Principal } from "../access/Principal.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { AudioFormat, ClientFrame, CloseReason, ErrorCode, ServiceEvent, SessionRequest } from "./Frames.ts"

export interface ClientSocket {
  /** Control events keep their order among themselves and against audio, except after `dropAudio`. */
  readonly send: (event: ServiceEvent) => void
  /** `base64` holds the ASCII bytes of the text; it may be used until the call returns. */
  readonly sendAudio: (itemId: string, base64: Uint8Array, format: AudioFormat) => void
  /** Throws away the audio that waits to be sent. */
  readonly dropAudio: () => void
  /** Stops and resumes the reading of what the client sends. */
  readonly pause: () => void
  readonly resume: () => void
  /** Sends what is waiting, then closes. Nothing is received or sent afterwards. */
  readonly close: (reason: CloseReason) => void
  /** From now on the client is read, and whatever it sends goes to `receive`. Called once. */
  readonly listen: (receive: (input: ClientInput) => void) => void
}

export type ClientInput =
  /** The first frame. */
  | { readonly _tag: "Begin"; readonly request: SessionRequest; readonly bytes: number }
  | { readonly _tag: "Frame"; readonly frame: ClientFrame; readonly bytes: number }
  | { readonly _tag: "Audio"; readonly audio: Uint8Array }
  | { readonly _tag: "Malformed"; readonly code: ErrorCode; readonly message: string; readonly bytes: number }
  /** The client does not read as fast as it is sent to, or reads again. */
  | { readonly _tag: "Behind"; readonly isBehind: boolean }
  | { readonly _tag: "Gone" }

/** How the client says who it is. */
export interface Credentials {
  /** By key, or by the host's own session (`makeAuthentication`). Not asked where there is a ticket. */
  readonly principal: Effect.Effect<typeof Principal.Service, InvalidKey | TooManyFailedKeys | StoreUnavailable>
  readonly ticket: Redacted.Redacted<string> | null
  /** The Origin header of the connection. */
  readonly origin: string | null
}

/**
 * The interface between a session and the connection of its client: `@colloquy/ws` implements it with a WebSocket, the test kit with two
 * arrays. All functions are synchronous, because audio goes through them.
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { TooManyFailedKeys } from "../access/Authentication.ts"
import type { InvalidKey } from "../access/Keys.ts"
import type { Principal } from "../access/Principal.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { AudioFormat, ClientFrame, CloseReason, ErrorCode, ServiceEvent, SessionRequest } from "./Frames.ts"

export interface ClientSocket {
  /** Control events keep their order among themselves and relative to audio, except after `dropAudio`. */
  readonly send: (event: ServiceEvent) => void
  /** `base64` contains the ASCII bytes of the text; it may only be used until the call returns. */
  readonly sendAudio: (itemId: string, base64: Uint8Array, format: AudioFormat) => void
  /** Discards the audio that waits to be sent. */
  readonly dropAudio: () => void
  /** Stops and resumes reading from the client. */
  readonly pause: () => void
  readonly resume: () => void
  /** Sends what is waiting, then closes. Nothing is received or sent afterwards. */
  readonly close: (reason: CloseReason) => void
  /** Begins to read from the client, and gives its input to `receive`. Called once. */
  readonly listen: (receive: (input: ClientInput) => void) => void
}

/** An input from a client: a frame, sound, or the end of the connection. */
export type ClientInput =
  /** The first frame. */
  | { readonly _tag: "Begin"; readonly request: SessionRequest; readonly bytes: number }
  | { readonly _tag: "Frame"; readonly frame: ClientFrame; readonly bytes: number }
  | { readonly _tag: "Audio"; readonly audio: Uint8Array }
  | { readonly _tag: "Malformed"; readonly code: ErrorCode; readonly message: string; readonly bytes: number }
  /** The client reads more slowly than it is sent to, or has caught up. */
  | { readonly _tag: "Behind"; readonly isBehind: boolean }
  | { readonly _tag: "Gone" }

/** The client's proof of its identity. */
export interface Credentials {
  /** The principal by key, or by the host's own session (`makeAuthentication`). Not used if there is a ticket. */
  readonly principal: Effect.Effect<typeof Principal.Service, InvalidKey | TooManyFailedKeys | StoreUnavailable>
  readonly ticket: Redacted.Redacted<string> | null
  /** Called when the owner is known. From then on the connection counts for its owner. */
  readonly onKnown?: () => void
  /** The Origin header of the connection. */
  readonly origin: string | null
}

/** All limits of a voice session, as one reference that a host may replace. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"

export interface SessionLimits {
  /** From connecting to the first frame. */
  readonly firstFrame: Duration.Input
  /** How many connections of one owner may wait for their first frame, in this process. */
  readonly waitingOfOwner: number
  /** How many tickets one owner may get within the 60 seconds that a ticket is valid. */
  readonly ticketsOfOwner: number
  /** From `session.begin`. */
  readonly session: Duration.Input
  /** Without any audio or frame of the client. */
  readonly idle: Duration.Input
  /** Bytes of audio and frames that the client may send. */
  readonly inputBytes: number
  /** Messages after the stored summary. */
  readonly historyMessages: number
  /** Characters of the serialised history and the instructions together. */
  readonly historyCharacters: number
  /** The time for connecting, setup and history together. */
  readonly opening: Duration.Input
  /** At the end, for missing transcripts and usage. */
  readonly stopping: Duration.Input
  /** How long a spoken turn may wait for its transcript. */
  readonly transcript: Duration.Input
  /** How long a peer that does not read may block the other one. */
  readonly stuck: Duration.Input
  /** For saving the rest of the conversation at the end. */
  readonly saving: Duration.Input
  /** How long a thread stays blocked after its process died. */
  readonly lease: Duration.Input
  /** Bytes that may wait at the vendor's socket before the client is no longer read. */
  readonly vendorBuffer: number
}

/** The limits of a host that changes none. */
export const defaultSessionLimits: SessionLimits = {
  firstFrame: "30 seconds",
  waitingOfOwner: 100,
  ticketsOfOwner: 100,
  session: "30 minutes",
  idle: "120 seconds",
  inputBytes: 100 * 1024 * 1024,
  historyMessages: 200,
  historyCharacters: 200_000,
  opening: "20 seconds",
  stopping: "3 seconds",
  transcript: "10 seconds",
  stuck: "10 seconds",
  saving: "5 seconds",
  lease: "15 seconds",
  vendorBuffer: 1024 * 1024
}

export const SessionLimits = Context.Reference<SessionLimits>("@colloquy/core/realtime/SessionLimits", {
  defaultValue: () => defaultSessionLimits
})

export const millis = (duration: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(duration))

/** The settings of voice that a host may change. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

export interface VoiceSettings {
  /** The maximum size of a recording in bytes; a provider may accept less. */
  readonly maxRecordingBytes: number
  /**
   * Which recordings are kept as documents: those of stored messages, also those in which nothing was heard, or none. Speech is always
   * kept.
   */
  readonly recordings: "with_message" | "always" | "never"
  /** How often a provider is asked again before its first piece. */
  readonly retries: number
  /** If a provider asks for a longer pause than this, the request fails instead of waiting. */
  readonly longestRetryPause: Duration.Input
  /** How long a provider may be silent. */
  readonly silence: Duration.Input
  /** The time limit of one transcription, however many pieces arrive. */
  readonly transcriptionTimeout: Duration.Input
  /** How long speech may go on after the last word of the answer. */
  readonly speechTimeout: Duration.Input
  /** Bytes of audio of one answer. */
  readonly maxSpeechBytes: number
  /** How long the end of a turn waits until the recording of its speech is stored. */
  readonly storeTimeout: Duration.Input
}

/** The settings of a host that changes none. */
export const defaultVoiceSettings: VoiceSettings = {
  maxRecordingBytes: 25 * 1024 * 1024,
  recordings: "with_message",
  retries: 2,
  longestRetryPause: "20 seconds",
  silence: "30 seconds",
  transcriptionTimeout: "3 minutes",
  speechTimeout: "3 minutes",
  maxSpeechBytes: 200 * 1024 * 1024,
  storeTimeout: "20 seconds"
}

export const VoiceSettings = Context.Reference<VoiceSettings>("@colloquy/core/voice/VoiceSettings", {
  defaultValue: () => defaultVoiceSettings
})

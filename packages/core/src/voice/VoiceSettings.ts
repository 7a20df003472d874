/** What a host may set about voice. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

export interface VoiceSettings {
  /** Bytes of one recording; a provider may take less. */
  readonly maxRecordingBytes: number
  /**
   * Whether recordings stay as documents: those of messages that were stored, also those of messages in which nothing was heard, or none.
   * Speech is always kept.
   */
  readonly recordings: "with_message" | "always" | "never"
  /** A provider is asked again so often before it has said anything. */
  readonly retries: number
  /** A provider that asks for a longer pause than this is reported instead of awaited. */
  readonly longestRetryPause: Duration.Input
  /** How long a provider may say nothing. */
  readonly silence: Duration.Input
  /** For one transcription, however lively the provider is. */
  readonly transcriptionTimeout: Duration.Input
  /** How long speech may go on after the last word of the answer. */
  readonly speechTimeout: Duration.Input
  /** Bytes of audio of one answer. */
  readonly maxSpeechBytes: number
  /** How long the end of a turn waits for the recording of its speech to be stored. */
  readonly storeTimeout: Duration.Input
}

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

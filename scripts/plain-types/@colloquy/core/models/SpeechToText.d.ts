/** A driver as a host hands it on with its provider. `SpeechToText` of `@colloquy/core/adapters` is for those who write one. */
export interface SpeechToText {
  readonly defaultModel: string
  readonly maxBytes: number
}

export type ListeningRequest = never
export type Recording = never
export type Transcript = never
export type TranscriptEvent = never
export type TranscriptionRequest = never

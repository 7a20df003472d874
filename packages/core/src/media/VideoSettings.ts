/** The settings of videos that a host may change. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import { defaultMediaSettings } from "./MediaSettings.ts"

export interface VideoSettings {
  /** How long a job is waited for, counted from its order. At most 30 minutes. */
  readonly pollLimit: Duration.Input
  /**
   * The pause before the first status request; later pauses grow with the age of the job. A pause that the provider asks for comes first.
   */
  readonly firstPause: Duration.Input
  readonly longestPause: Duration.Input
  /** How long after its order a job may be unknown to its provider. */
  readonly unknownFor: Duration.Input
  /** The time limit of all attempts to read a video together. */
  readonly downloadTime: Duration.Input
  readonly downloadAttempts: number
  /** How long the address of a sound or a video is valid for the provider's fetch. */
  readonly referenceLifetime: Duration.Input
  /** Bytes of a clip. */
  readonly maxSize: number
  /** Bytes of a picture that is part of an order. */
  readonly maxInlineImage: number
  /**
   * Whether any process continues jobs whose turn ended before them: the video becomes a document of the thread, and its cost is charged.
   */
  readonly reattach: boolean
}

/** The settings of a host that changes none. */
export const defaultVideoSettings: VideoSettings = {
  pollLimit: "30 minutes",
  firstPause: "5 seconds",
  longestPause: "30 seconds",
  unknownFor: "2 minutes",
  downloadTime: "15 minutes",
  downloadAttempts: 4,
  referenceLifetime: "1 hour",
  maxSize: defaultMediaSettings.maxSize.video,
  maxInlineImage: 20 * 1024 * 1024,
  reattach: false
}

export const VideoSettings = Context.Reference<VideoSettings>("@colloquy/core/media/VideoSettings", {
  defaultValue: () => defaultVideoSettings
})

/** A host may set a shorter limit, but no longer one. */
const longestWait = Duration.minutes(30)

/** The limits of the wait for a job, in milliseconds. */
export const waitLimits = (settings: VideoSettings) => ({
  limit: Math.min(Duration.toMillis(settings.pollLimit), Duration.toMillis(longestWait)),
  firstPause: Duration.toMillis(settings.firstPause),
  longestPause: Duration.toMillis(settings.longestPause),
  unknownFor: Duration.toMillis(settings.unknownFor)
})

export type WaitLimits = ReturnType<typeof waitLimits>

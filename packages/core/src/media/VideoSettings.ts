/** What a host may set about videos. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"

export interface VideoSettings {
  /** How long a job is waited for, counted from its order. At most 30 minutes. */
  readonly pollLimit: Duration.Input
  /** The pause before a job is looked at first; pauses grow with the time that has gone by. The provider's own word comes first. */
  readonly firstPause: Duration.Input
  readonly longestPause: Duration.Input
  /** How long after its order a job may be unknown to its provider. */
  readonly unknownFor: Duration.Input
  /** For all attempts to read a clip together. */
  readonly downloadTime: Duration.Input
  readonly downloadAttempts: number
  /** How long the address of a sound or a video stays good that a provider is to fetch. */
  readonly referenceLifetime: Duration.Input
  /** Bytes of a picture that is sent inside of an order. */
  readonly maxInlineImage: number
  /** Jobs whose turn ended before them are gone on with by any process: the clip becomes a document of the thread, its cost is charged. */
  readonly reattach: boolean
}

export const defaultVideoSettings: VideoSettings = {
  pollLimit: "30 minutes",
  firstPause: "5 seconds",
  longestPause: "30 seconds",
  unknownFor: "2 minutes",
  downloadTime: "15 minutes",
  downloadAttempts: 4,
  referenceLifetime: "1 hour",
  maxInlineImage: 20 * 1024 * 1024,
  reattach: false
}

export const VideoSettings = Context.Reference<VideoSettings>("@colloquy/core/media/VideoSettings", {
  defaultValue: () => defaultVideoSettings
})

/** Specification part 8: a host may wait for less, never for more. */
const longestWait = Duration.minutes(30)

/** The settings by which a job is waited for, in milliseconds. */
export const patienceOf = (settings: VideoSettings) => ({
  limit: Math.min(Duration.toMillis(settings.pollLimit), Duration.toMillis(longestWait)),
  firstPause: Duration.toMillis(settings.firstPause),
  longestPause: Duration.toMillis(settings.longestPause),
  unknownFor: Duration.toMillis(settings.unknownFor)
})

export type Patience = ReturnType<typeof patienceOf>

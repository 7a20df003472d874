/** The settings of turns that a host may change. The defaults suit a server with one database. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type ChatPolicy, defaultChatPolicy } from "../models/ChatModel.ts"
import type { WriterSettings } from "../runs/LogTail.ts"
import { defaultImportLimits, type ImportLimits } from "./ImportLimits.ts"
import type { BusyPolicy } from "./TurnRequest.ts"

export interface TurnSettings {
  readonly busy: BusyPolicy
  /** How long a queued message may wait for its turn. */
  readonly queueTimeout: Duration.Input
  readonly maxQueued: number
  /** How long a run stays blocked after its process died. */
  readonly lease: Duration.Input
  /** How often the kernel searches for runs of dead processes. */
  readonly sweep: Duration.Input
  /** How often waiting code queries the store when no signal came. */
  readonly poll: Duration.Input
  /** How long a cancel waits for the process that works on the run before it ends the run itself. */
  readonly cancelGrace: Duration.Input
  /** How long a shutdown waits for running turns before it ends them. */
  readonly drainTimeout: Duration.Input
  /**
   * Characters of assistants and threads that stay in memory, so that the next turn of a thread need not read them. A change by any process
   * is effective in the next turn all the same: the store compares revisions when the turn begins.
   */
  readonly keptPlaces: number
  /** How long the beginning of a turn is retried while the store is unavailable. After that the message is refused. */
  readonly startTimeout: Duration.Input
  /** How long a settlement is retried while the store is unavailable. */
  readonly settleTimeout: Duration.Input
  readonly streamedLog: WriterSettings
  /** For turns without a reader: fewer, larger appends. */
  readonly unwatchedLog: WriterSettings
  readonly chat: ChatPolicy
  /** Time limit of a part's `refuse` and `decide`, unless the part sets its own. */
  readonly decideTimeout: Duration.Input
  /** Time limit of a part's `listen` (it turns audio and other input into text), unless the part sets its own. */
  readonly listenTimeout: Duration.Input
  /** Time limit of a part's `recall`. */
  readonly recallTimeout: Duration.Input
  /** Time limit of one verdict of a part that reviews answers. */
  readonly reviewTimeout: Duration.Input
  /** How long a part that reads the answer aloud may go on after the answer's last word. */
  readonly speakTimeout: Duration.Input
  /** Model steps of one leg that may end in calls of hosted tools. */
  readonly hostedRounds: number
  readonly hostedConcurrency: number
  readonly hostedToolTimeout: Duration.Input
  /** How long a call waits for its approval before it is rejected as expired; null: as long as the run does. */
  readonly approvalTimeout: Duration.Input | null
  /** Characters of a hosted tool's result that the model gets. */
  readonly maxToolResult: number
  /** The context window of models whose window is unknown. */
  readonly assumedContextLimit: number
  /** Bytes of pictures, sound and video that one prompt may contain. Vendors accept 20 MB and more, base64 included. */
  readonly mediaBytes: number
  /** What an import of a conversation may have. */
  readonly imports: ImportLimits
}

/** The settings of a host that changes none. */
export const defaultTurnSettings: TurnSettings = {
  busy: "enqueue",
  queueTimeout: "30 seconds",
  maxQueued: 32,
  lease: "30 seconds",
  sweep: "15 seconds",
  poll: "1 second",
  cancelGrace: "500 millis",
  drainTimeout: "20 seconds",
  keptPlaces: 4_000_000,
  startTimeout: "5 seconds",
  settleTimeout: "1 minute",
  streamedLog: { pause: "50 millis", batch: 512 },
  unwatchedLog: { pause: "2 seconds", batch: 4096 },
  chat: defaultChatPolicy,
  decideTimeout: "30 seconds",
  listenTimeout: "5 minutes",
  recallTimeout: "10 seconds",
  reviewTimeout: "20 seconds",
  speakTimeout: "10 minutes",
  hostedRounds: 16,
  hostedConcurrency: 8,
  hostedToolTimeout: "1 minute",
  approvalTimeout: null,
  maxToolResult: 200_000,
  assumedContextLimit: 128_000,
  mediaBytes: 14_000_000,
  imports: defaultImportLimits
}

export const TurnSettings = Context.Reference<TurnSettings>("@colloquy/core/turns/TurnSettings", {
  defaultValue: () => defaultTurnSettings
})

/** Converts the durations that every turn uses, once. */
const inDurations = (settings: TurnSettings): TurnSettings => {
  const { chat, lease, settleTimeout, startTimeout, streamedLog, unwatchedLog, ...others } = settings
  const read = Duration.fromInputUnsafe
  return {
    ...others,
    lease: read(lease),
    settleTimeout: read(settleTimeout),
    startTimeout: read(startTimeout),
    streamedLog: { ...streamedLog, pause: read(streamedLog.pause) },
    unwatchedLog: { ...unwatchedLog, pause: read(unwatchedLog.pause) },
    chat: {
      ...chat,
      firstEventTimeout: read(chat.firstEventTimeout),
      idleTimeout: read(chat.idleTimeout),
      stepTimeout: read(chat.stepTimeout)
    }
  }
}

/** The host's settings, in the form in which the services of turns use them. */
export const readTurnSettings: Layer.Layer<never> = Layer.effect(TurnSettings, Effect.map(TurnSettings, inDurations))

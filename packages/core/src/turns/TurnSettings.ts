/** What a host may set about turns. The defaults suit a server on one database. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type ChatPolicy, defaultChatPolicy } from "../models/ChatModel.ts"
import type { WriterSettings } from "../runs/LogTail.ts"
import type { BusyPolicy } from "./TurnRequest.ts"

export interface TurnSettings {
  readonly busy: BusyPolicy
  /** How long a queued message may wait for its turn. */
  readonly queueTimeout: Duration.Input
  readonly maxQueued: number
  /** A process that dies leaves its runs for so long. */
  readonly lease: Duration.Input
  /** How often runs of dead processes are looked for. */
  readonly sweep: Duration.Input
  /** How often waiting code looks at the store when no hint came. */
  readonly poll: Duration.Input
  /** How long a cancel waits for the process that works on the run before it ends the run itself. */
  readonly cancelGrace: Duration.Input
  /** How long a shutdown waits for running turns before it ends them. */
  readonly drainTimeout: Duration.Input
  /**
   * Characters of assistants and threads that stay in memory, so that the next turn of a thread needs not look them up. A change of them, by
   * whatever process, counts for the next turn as ever: the store compares when the turn begins.
   */
  readonly keptPlaces: number
  /** How long the beginning of a turn is tried again while the store is away; then the message is refused. */
  readonly startTimeout: Duration.Input
  /** How long a settlement is tried again while the store is away. */
  readonly settleTimeout: Duration.Input
  readonly streamedLog: WriterSettings
  /** For turns without a reader: fewer, larger appends. */
  readonly unwatchedLog: WriterSettings
  readonly chat: ChatPolicy
  /** How long a part of a turn may take to refuse a message or to decide what it does in the turn, unless it names a time of its own. */
  readonly decideTimeout: Duration.Input
  /** How long a part may take to turn into text what is not text (`listen`), unless it names a time of its own. */
  readonly listenTimeout: Duration.Input
  /** How long a part of a turn may look for what it recalls. */
  readonly recallTimeout: Duration.Input
  /** How long a part that reads the answer aloud may go on after its last word. */
  readonly speakTimeout: Duration.Input
  /** Model steps of one leg that may end in hosted calls. */
  readonly hostedRounds: number
  readonly hostedConcurrency: number
  readonly hostedToolTimeout: Duration.Input
  /** Characters of a hosted tool's result that go to the model. */
  readonly maxToolResult: number
  /** For models of which no window is known. */
  readonly assumedContextLimit: number
  /** Bytes of pictures, sound and video that one prompt may hold. Vendors take 20 MB and more, base64 included. */
  readonly mediaBytes: number
}

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
  speakTimeout: "10 minutes",
  hostedRounds: 16,
  hostedConcurrency: 8,
  hostedToolTimeout: "1 minute",
  maxToolResult: 200_000,
  assumedContextLimit: 128_000,
  mediaBytes: 14_000_000
}

export const TurnSettings = Context.Reference<TurnSettings>("@colloquy/core/turns/TurnSettings", {
  defaultValue: () => defaultTurnSettings
})

/** The times that every turn looks at, read once. */
const inDurations = (settings: TurnSettings): TurnSettings => {
  const { chat, lease, settleTimeout, streamedLog, unwatchedLog, ...others } = settings
  const read = Duration.fromInputUnsafe
  return {
    ...others,
    lease: read(lease),
    settleTimeout: read(settleTimeout),
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

/** What the host has set, as the services of turns work with it. */
export const readTurnSettings: Layer.Layer<never> = Layer.effect(TurnSettings, Effect.map(TurnSettings, inDurations))

/** The room of voice sessions: `realtime({ models: [openaiVoice({ … })] })`. It adds `colloquy.realtime`. */
import type { Keys } from "@colloquy/core"
import { GeminiLive, OpenAiRealtime, XaiRealtime } from "@colloquy/adapters/realtime"
import { type CallOptions, type Room, room, type RoomFunctions, type RoomTypes } from "@colloquy/core/promises"
import {
  Realtime,
  type RealtimeModel,
  RealtimeModels,
  RealtimeSessions,
  type SessionLimits,
  Tickets
} from "@colloquy/core/realtime"
import { attachUpgrade, makeUpgradeHandler, type UpgradeHandler, type UpgradeOptions } from "@colloquy/ws"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { Server } from "node:http"
import { readApiKey, type Secret } from "../Secret.ts"
import type { DeepPartial } from "@colloquy/core/adapters"
import type { RoomNeeds } from "../Store.ts"

export type { RealtimeModel } from "@colloquy/core/realtime"

type WithSecret<Settings> = Omit<Settings, "apiKey"> & { readonly apiKey?: Secret | undefined }

const vendor =
  <Settings extends object>(make: (settings: Settings) => RealtimeModel) =>
  ({ apiKey, ...settings }: WithSecret<Settings>): RealtimeModel =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same settings, with the key unreadable
    make({ ...settings, ...readApiKey(apiKey) } as unknown as Settings)

/** OpenAI's realtime voices, for `realtime({ models })`. */
export const openaiVoice = vendor(OpenAiRealtime.model)
/** Gemini's live voices, for the same list. */
export const geminiVoice = vendor(GeminiLive.model)
/** xAI's voices, also for `models`. */
export const xaiVoice = vendor(XaiRealtime.model)

/** The voices of sessions, and the limits of a session. */
export interface RealtimeOptions {
  readonly models: ReadonlyArray<RealtimeModel>
  readonly limits?: DeepPartial<SessionLimits>
}

/** A proof for a browser: good for one connection to one thread, for a short time. */
export interface RealtimeTicket {
  /** Given to a browser, which opens one session with it within `expiresIn` seconds. */
  readonly ticket: string
  readonly expiresIn: number
  readonly threadId: string
  readonly assistantId: string
}

/** Voice sessions: `colloquy.realtime`. */
export interface RealtimeCalls {
  /** Serves voice sessions at `<basePath>/threads/realtime` of this server until the returned function is called, or the kernel closes. */
  readonly attach: (server: Server, options?: UpgradeOptions) => () => void
  /** For hosts that dispatch upgrades themselves. */
  readonly upgradeHandler: (options?: UpgradeOptions) => UpgradeHandler
  /** Without ids, the ticket is for a new thread of a new assistant. */
  readonly ticket: (
    session?: { readonly threadId?: string; readonly assistantId?: string; readonly origin?: string },
    options?: CallOptions
  ) => Promise<RealtimeTicket>
  /** Ends all voice sessions and stores what was said. Call it before the server closes, which waits for them. */
  readonly drain: () => Promise<void>
}

interface RealtimeTypes extends RoomTypes {
  readonly calls: { readonly realtime: RealtimeCalls }
  readonly event: never
}

/** What `realtime()` gives. */
export type RealtimeRoom = Room<RealtimeTypes, RoomNeeds>

export const realtime = ({ limits, models }: RealtimeOptions): RealtimeRoom =>
  room<RealtimeTypes>()(Layer.provide(Realtime.layer(limits), RealtimeModels.layer(models)), functions)

const functions = Effect.gen(function* () {
  const context = yield* Effect.context<RealtimeSessions | Keys | Scope.Scope>()
  const sessions = yield* RealtimeSessions
  const tickets = yield* Tickets
  const upgradeHandler: RealtimeCalls["upgradeHandler"] = (options) =>
    Effect.runSyncWith(context)(makeUpgradeHandler(options))

  const joined: RoomFunctions<RealtimeTypes> = {
    name: "realtime",
    calls: (run) => ({
      realtime: {
        attach: (server, options) => attachUpgrade(server, upgradeHandler(options)),
        upgradeHandler,
        ticket: async ({ assistantId = null, origin = null, threadId = null } = {}, options) => {
          const issued = await run(() => tickets.issue({ assistantId, origin, threadId }), options)
          return {
            ticket: Redacted.value(issued.ticket),
            expiresIn: Duration.toSeconds(issued.expiresIn),
            threadId: issued.threadId,
            assistantId: issued.assistantId
          }
        },
        drain: () => Effect.runPromiseWith(context)(sessions.drain)
      }
    })
  }
  return joined
})

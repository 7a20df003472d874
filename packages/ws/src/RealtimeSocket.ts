/**
 * The realtime socket for a host that builds its kernel as a layer. The layer joins the kernel that serves `webHandler`, and the upgrades come from
 * the host's server. The host ends voice sessions with `drain` before it closes its server.
 */
import type { Keys } from "@colloquy/core"
import { RealtimeSessions } from "@colloquy/core/realtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Server } from "node:http"
import {
  attachUpgrade,
  doorsByPath,
  makeUpgradeHandler,
  notReady,
  type UpgradeHandler,
  type UpgradeOptions
} from "./UpgradeHandler.ts"

export interface RealtimeSocket {
  /** Joins the kernel: `voice.layer.pipe(Layer.provideMerge(realtime), Layer.provideMerge(Kernel.layer), …)`. */
  readonly layer: Layer.Layer<never, never, RealtimeSessions | Keys>
  /** Handles one upgrade, for hosts that dispatch upgrades themselves. Until the kernel is built, the answer is 503. */
  readonly handle: UpgradeHandler
  /** Handles the upgrades of this server until the returned function is called. */
  readonly attach: (server: Server) => () => void
  /** Ends all voice sessions: their messages are stored and the clients are told. Must be called before closing the server, which waits for them. */
  readonly drain: () => Promise<void>
}

export const realtimeSocket = (options: UpgradeOptions = {}): RealtimeSocket => {
  const paths = doorsByPath(options)
  let open: { readonly handle: UpgradeHandler; readonly drain: () => Promise<void> } | null = null
  const layer = Layer.effectDiscard(
    Effect.gen(function* () {
      const handle = yield* makeUpgradeHandler(options)
      const { drain } = yield* RealtimeSessions
      const run = Effect.runPromiseWith(yield* Effect.context<never>())
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          open = { handle, drain: () => run(drain) }
        }),
        () =>
          Effect.sync(() => {
            open = null
          })
      )
    })
  )
  const handle: UpgradeHandler = (request, socket, head) =>
    open === null ? notReady(paths, request, socket) : open.handle(request, socket, head)
  return {
    layer,
    handle,
    attach: (server) => attachUpgrade(server, handle),
    drain: async () => open?.drain()
  }
}

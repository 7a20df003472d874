/**
 * The socket for a host that builds its kernel as a layer: the layer stands behind `webHandler`, the upgrades come from the host's server.
 * One kernel serves both, and the host ends voice sessions before it closes its server.
 */
import type { Keys } from "@colloquy/core"
import { RealtimeSessions } from "@colloquy/core/realtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Server } from "node:http"
import {
  attachUpgrade,
  makeUpgradeHandler,
  notReady,
  socketPathOf,
  type UpgradeHandler,
  type UpgradeOptions
} from "./UpgradeHandler.ts"

export interface RealtimeSocket {
  /** Joins the kernel: `voice.layer.pipe(Layer.provideMerge(realtime), Layer.provideMerge(Kernel.layer), …)`. */
  readonly layer: Layer.Layer<never, never, RealtimeSessions | Keys>
  /** For hosts that give out upgrades themselves. Before the kernel is built, an upgrade is answered with 503. */
  readonly handle: UpgradeHandler
  /** Takes the upgrades of this server; the function that it returns ends that. */
  readonly attach: (server: Server) => () => void
  /** Ends all voice sessions: everything said is stored, and clients are told. Before the server is closed, which waits for them. */
  readonly drain: () => Promise<void>
}

export const realtimeSocket = (options: UpgradeOptions = {}): RealtimeSocket => {
  const path = socketPathOf(options)
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
    open === null ? notReady(path, request, socket) : open.handle(request, socket, head)
  return {
    layer,
    handle,
    attach: (server) => attachUpgrade(server, handle),
    drain: async () => open?.drain()
  }
}

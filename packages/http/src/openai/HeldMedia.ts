/**
 * Media of stateless requests, in memory until their turn has ended. Such a turn has a thread of its own, and no other process continues it,
 * so its pictures need not be written to a database.
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import type { LiftedMedium } from "../bodies/LiftedMedia.ts"

export class HeldMedia extends Context.Service<
  HeldMedia,
  {
    readonly hold: (media: Iterable<readonly [mark: string, medium: LiftedMedium]>) => void
    /** Undefined: the turn of the medium has ended. */
    readonly get: (mark: string) => LiftedMedium | undefined
    readonly release: (marks: Iterable<string>) => void
  }
>()("@colloquy/http/openai/HeldMedia") {
  static readonly layer: Layer.Layer<HeldMedia> = Layer.sync(HeldMedia, () => {
    const held = new Map<string, LiftedMedium>()
    return {
      hold: (media) => {
        for (const [mark, medium] of media) held.set(mark, medium)
      },
      get: (mark) => held.get(mark),
      release: (marks) => {
        for (const mark of marks) held.delete(mark)
      }
    }
  })
}

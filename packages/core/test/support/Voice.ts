/** What tests of voice sessions share. */
import { type ScriptedRealtime, TestRealtime } from "@colloquy/testing"
import { type Principal, ThreadId } from "@colloquy/core"
import { ThreadStore } from "@colloquy/core/adapters"
import { asNewOwner } from "@colloquy/testing/contracts"
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** Twenty milliseconds of silence. */
export const frame = new Uint8Array(960)

export interface VoiceStoryOptions extends TestRealtime.TestRealtimeOptions {
  /** References of the host. */
  readonly host?: Layer.Layer<never>
}

/** A test of sessions: the script of each, and what happens. */
export const voiceStory = <E>(
  title: string,
  script: ReadonlyArray<ReadonlyArray<ScriptedRealtime.VoiceBeat>>,
  test: Effect.Effect<void, E, TestRealtime.Services | Principal | Scope.Scope>,
  { host, ...options }: VoiceStoryOptions = {}
): void => {
  const layer = TestRealtime.layer(script, options).pipe(Layer.provide(host ?? Layer.empty))
  it.effect(title, () => Effect.provide(asNewOwner(Effect.scoped(test)), layer))
}

/** Roles and texts of a thread. */
export const stored = (threadId: string) =>
  Effect.map(
    ThreadStore.use((store) => store.messages([ThreadId.make(threadId)])),
    (messages) => messages.map(({ content, role }) => [role, content])
  )

export const tools = [{ name: "get_time", description: null, parameters: null }]

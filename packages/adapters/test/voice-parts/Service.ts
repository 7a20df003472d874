/** A service around realtime models of a test, in memory; its clients are those of `TestRealtime`. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, type Principal, Providers, ThreadId } from "@colloquy/core"
import { ThreadStore } from "@colloquy/core/adapters"
import { Realtime, type RealtimeModel, RealtimeModels } from "@colloquy/core/realtime"
import { asNewOwner } from "@colloquy/testing/contracts"
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

const serviceLayer = (models: ReadonlyArray<RealtimeModel>) =>
  Realtime.layer().pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provideMerge(RealtimeModels.layer(models)),
    Layer.provideMerge(InMemory.layer),
    Layer.provideMerge(Providers.layer({ providers: [], defaults: { provider: "none", model: "none" } })),
    Layer.fresh
  )

type Services = Layer.Success<ReturnType<typeof serviceLayer>>

export const voiceStory = <E>(
  title: string,
  models: Effect.Effect<ReadonlyArray<RealtimeModel>, never, Scope.Scope>,
  test: Effect.Effect<void, E, Services | Principal | Scope.Scope>,
  isSkipped = false
): void =>
  it.effect.skipIf(isSkipped)(title, () =>
    Effect.scoped(Effect.flatMap(models, (made) => Effect.provide(asNewOwner(Effect.scoped(test)), serviceLayer(made))))
  )

/** Roles and texts of a thread. */
export const stored = (threadId: string) =>
  Effect.map(
    ThreadStore.use((store) => store.messages([ThreadId.make(threadId)])),
    (messages) => messages.map(({ content, role }) => [role, content])
  )

/**
 * Events of an owner for receivers outside of the kernel, such as webhooks. A wing that tells them onward registers how an event becomes a follow-up;
 * the code where an event happens stores that follow-up together with what happened. Without such a wing nothing is stored.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Principal } from "../access/Principal.ts"
import type { NewFollowUp } from "./FollowUp.ts"

export interface OwnerEvent {
  readonly type: "document.indexed" | "schedule.missed"
  /** The same for every repeat of this event, and for no other event of the type. */
  readonly key: string
  /** The record of what it tells of, without any text of a conversation or a file. */
  readonly data: Schema.JsonObject
  /** Fields of the record with such text. */
  readonly content: Schema.JsonObject
}

type Order = (event: OwnerEvent) => Effect.Effect<NewFollowUp | null, never, Principal>

export class OwnerEvents extends Context.Service<
  OwnerEvents,
  {
    /** One wing tells the events onward, until the scope closes. */
    readonly register: (order: Order) => Effect.Effect<void, never, Scope.Scope>
    /** The follow-up that tells the event; null: nobody wants to hear of it. */
    readonly order: Order
  }
>()("@colloquy/core/runs/OwnerEvents") {
  static readonly layer: Layer.Layer<OwnerEvents> = Layer.sync(OwnerEvents, () => {
    let registered: Order | null = null
    return {
      register: (order) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => {
              registered = order
            }),
            () =>
              Effect.sync(() => {
                registered = null
              })
          )
        ),
      order: (event) => Effect.suspend(() => registered?.(event) ?? Effect.succeed(null))
    }
  })
}

/**
 * A part of a turn of the host's own: messages with a card number never reach a model. The part answers them itself, keeps a note with the
 * answer, and leaves an audit entry that is written after the turn, in whatever process, and tried again if that fails.
 */
import { FollowUps, type TurnPart, TurnParts } from "@colloquy/core"
import { noUsage } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const cardNumber = /\b(?:\d[ -]?){15,16}\b/u

const Plan = Schema.Struct({ reason: Schema.String })

const guardrail: TurnPart<typeof Plan.Type> = {
  name: "guardrail",
  plan: Plan,
  decide: ({ content }) =>
    Effect.succeed(
      cardNumber.test(content)
        ? { plan: { reason: "a card number" }, answers: { provider: "house", model: "guardrail" } }
        : null
    ),
  answer: ({ reason }, turn) => {
    turn.keep({ stopped: reason })
    return Effect.succeed({ content: "Please send no card numbers.", usage: noUsage, model: "guardrail" })
  },
  followUps: ({ reason }, { runId }) => [{ kind: "audit", key: runId, payload: { reason } }]
}

/** `audit` writes one entry; it may be called again for an entry that is written already. */
export const guardrailLayer = (audit: (runId: string, reason: string) => Effect.Effect<unknown>) =>
  Layer.mergeAll(
    TurnParts.part(guardrail),
    Layer.effectDiscard(
      FollowUps.use((followUps) =>
        followUps.register({
          kind: "audit",
          run: ({ key, payload }) => Effect.asVoid(audit(key, Schema.decodeUnknownSync(Plan)(payload).reason))
        })
      )
    )
  )

/** A part of a turn that a host writes: messages with a card number never reach a model, and each leaves an audit entry after its turn. */
import { FollowUps, type TurnPart, TurnParts } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const cardNumber = /\b(?:\d[ -]?){15,16}\b/u
const Plan = Schema.Struct({ reason: Schema.String })

const guardrail: TurnPart<typeof Plan.Type> = {
  name: "guardrail",
  plan: Plan,
  decide: ({ content }) => {
    const answers = { provider: "house", model: "guardrail" }
    return Effect.succeed(cardNumber.test(content) ? { plan: { reason: "a card number" }, answers } : null)
  },
  answer: ({ reason }, turn) => {
    turn.keep({ stopped: reason })
    return Effect.succeed({ content: "Please send no card numbers." })
  },
  followUps: (plan, { runId }) => [{ kind: "audit", key: runId, payload: plan }]
}

/** `audit` writes one entry; it may be called again for an entry that is already written. */
export const guardrailLayer = (audit: (runId: string, reason: string) => Effect.Effect<unknown>) =>
  Layer.merge(
    TurnParts.part(guardrail),
    FollowUps.worker({ kind: "audit", payload: Plan, run: ({ reason }, { key }) => audit(key, reason) })
  )

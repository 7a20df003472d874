/**
 * A guard that a host writes: keys and addresses of email in messages and outputs of tools reach neither the database nor the model, and no
 * answer shows one. Texts that a guard does not rewrite are named in `docs/guards.md`: files, system prompts, metadata and contents of schedules.
 */
import { type TurnPart, TurnParts } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const secrets = /\b(?:sk-\w{4,64}|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4})/gu
const redact = (text: string) => text.replaceAll(secrets, "[removed]")

const guard: TurnPart<null> = {
  name: "redact",
  plan: Schema.Null,
  decide: () => Effect.succeed({ plan: null }),
  rewrite: (text) => Effect.succeed(redact(text)),
  review: () => ({
    by: "sentence",
    judge: ({ text }) =>
      Effect.succeed(
        text.includes("BEGIN PRIVATE KEY")
          ? { _tag: "Stop", reason: "The answer was stopped, because it contained a private key." }
          : { _tag: "Change", text: redact(text) }
      )
  })
}

export const redactingGuard = TurnParts.part(guard)

// The parts of the examples keep the contract of parts, as a host tests its own.
import { turnPartSuite } from "@colloquy/testing/contracts"
import * as Effect from "effect/Effect"
import { moodPart } from "../own-wing/Mood.ts"
import { redactingGuard } from "../redacting-guard/Guard.ts"
import { guardrailLayer } from "./Guardrail.ts"

turnPartSuite("guardrail", {
  part: guardrailLayer(() => Effect.void),
  turns: [{ content: "My card is 4111 1111 1111 1111." }, { content: "Hello" }]
})

turnPartSuite("mood", { part: moodPart, turns: [{ options: { mood: "kind" } }, {}] })

turnPartSuite("redacting guard", { part: redactingGuard, turns: [{ content: "Write to ada@example.org." }] })

// The parts of the wings, and parts as hosts write them, keep the contract of parts. That of documents joins only where a file is stored.
import { Providers, type TurnPart, TurnParts } from "@colloquy/core"
import { Answers } from "@colloquy/core/answers"
import { DocumentLinks } from "@colloquy/core/documents"
import { Evals } from "@colloquy/core/evals"
import { Images, Videos } from "@colloquy/core/media"
import { Memory } from "@colloquy/core/memory"
import { Outputs } from "@colloquy/core/outputs"
import { guard, part } from "@colloquy/core/promises"
import { Summaries } from "@colloquy/core/summaries"
import { Voice } from "@colloquy/core/voice"
import { WebSearch } from "@colloquy/core/web-search"
import { say, scripted, ScriptedVideo } from "@colloquy/testing"
import { turnPartSuite } from "@colloquy/testing/contracts"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { newDeeds, toyOptions, toyParts } from "../support/ToyParts.ts"
import { voiceProvider } from "../voice/VoiceRoom.ts"
import { painted, png } from "../media/Painter.ts"

const studio = ScriptedVideo.make()

/** Providers of everything that parts ask for, beside a conversation model. */
const providers = Providers.layer({
  providers: [
    scripted([], { otherwise: say("Hi.") }),
    { id: "painter", image: { generate: () => Effect.succeed(painted(png(1))) } },
    studio.provider,
    voiceProvider({})
  ],
  defaults: { provider: "scripted", model: "scripted-model" }
})

const engine = { id: "engine", priceUsd: 0, search: () => Effect.succeed({ results: [], costUsd: null }) }

turnPartSuite("memory", {
  part: Memory.layer(),
  turns: [{ options: { mode: "Auto" } }, { options: { mode: "Readonly", pro: true, citation: true } }, {}]
})

turnPartSuite("summaries", { part: Summaries.layer(), turns: [{}] })

turnPartSuite("web search", { part: WebSearch.layer(engine), turns: [{ options: { mode: "Auto" } }, {}] })

turnPartSuite("answers", {
  part: Answers.layer(),
  providers,
  turns: [{ options: { questions: { urgent: { type: "noul", instructions: "Is it urgent?" } } } }, {}]
})

turnPartSuite("pictures", {
  part: Images.layer(),
  providers,
  turns: [{ options: { provider: "painter", model: "oil" } }, {}]
})

turnPartSuite("videos", {
  part: Layer.provide(Videos.layer(), DocumentLinks.layer),
  providers,
  turns: [{ options: { provider: studio.provider.id, model: "acme/clip" } }, {}]
})

turnPartSuite("voice", {
  part: Voice.layer(),
  providers,
  turns: [{ options: { tts: { provider: "toy" } } }, {}]
})

turnPartSuite("outputs", {
  part: Outputs.layer(),
  turns: [{ options: { schema: { type: "object", properties: { text: { type: "string" } } }, name: "said" } }, {}]
})

turnPartSuite("records of evals", { part: Evals.layer(), turns: [{ options: { caseId: "case_1" } }, {}] })

turnPartSuite("a part of plain code", { part: part({ name: "notes", recall: async () => ["Tea"] }), turns: [{}] })

turnPartSuite("a guard of plain code", {
  part: guard({
    before: (text) => (text.includes("bomb") ? { refuse: "Not here." } : text.trim()),
    after: async (text) => (text.includes("alone") ? { replace: "No more." } : undefined)
  }),
  turns: [{ content: "A bomb" }, {}]
})

/** Reviews by sentence, and takes whatever it cannot read as harmless. */
const softener: TurnPart<null> = {
  name: "softener",
  plan: Schema.Null,
  decide: () => Effect.succeed({ plan: null }),
  review: () => ({
    by: "sentence",
    judge: ({ text }) =>
      Effect.succeed(text.includes("awful") ? { _tag: "Change", text: text.replace("awful", "bad") } : { _tag: "Pass" })
  })
}

turnPartSuite("a review", { part: TurnParts.part(softener), turns: [{}] })

turnPartSuite("three toys", {
  part: toyParts(newDeeds()),
  turns: [...Object.values(toyOptions).map((options) => ({ options })), {}]
})

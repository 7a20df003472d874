// What no wing can work with is told when the wing is added: one wrong value for each rule of a wing.
import { Answers } from "@colloquy/core/answers"
import { Documents } from "@colloquy/core/documents"
import { Evals } from "@colloquy/core/evals"
import { Helpers } from "@colloquy/core/helpers"
import { Images, Videos } from "@colloquy/core/media"
import { Memory } from "@colloquy/core/memory"
import { Realtime } from "@colloquy/core/realtime"
import { Retention } from "@colloquy/core/retention"
import { Schedules } from "@colloquy/core/schedules"
import { Summaries } from "@colloquy/core/summaries"
import { Voice } from "@colloquy/core/voice"
import { WebSearch } from "@colloquy/core/web-search"
import { Webhooks } from "@colloquy/core/webhooks"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Nothing that a wing needs is there: what is wrong is told before anything is asked for. */
const toldBy = (wing: Layer.Layer<never, unknown, never>) =>
  Effect.map(Effect.flip(Layer.build(wing)), (error) => String(error))

interface AnyWing {
  readonly layer: (settings: never) => unknown
}

/** As plain JavaScript adds it, to no kernel. */
const adding = ({ layer }: AnyWing, settings: object) =>
  // the settings are wrong on purpose, and nothing else is looked at
  toldBy(layer(settings as never) as Layer.Layer<never, unknown, never>)

const search: AnyWing = { layer: (settings) => WebSearch.layer(null, settings) }

for (const [wing, from, settings] of [
  ["answers", Answers, { samples: 0, concurrency: 0, timeout: 0, withoutLogProbabilities: "guessed" }],
  ["documents", Documents, { maxFileSize: Number.NaN, embeddingBatch: 0, chunkTokens: 0, orphanSweep: 0, attempts: 0 }],
  ["documents", Documents, { mostChunks: 0, rerankTimeout: 0, excerpts: "both", summaries: { sourceTokens: 5 } }],
  ["documents", Documents, { chunkTokens: 50, chunkOverlap: 50 }],
  ["evals", Evals, { tries: 0, poll: 0 }],
  ["helpers", Helpers, { timeout: 0 }],
  ["media", Images, { maxInputSize: 0, imageTimeout: 0, maxSize: { image: -1 } }],
  ["media", Videos, { pollLimit: 0, firstPause: 0, longestPause: 0, downloadTime: 0, downloadAttempts: 0 }],
  ["media", Videos, { referenceLifetime: 0, maxSize: 0 }],
  ["memory", Memory, { rerankTimeout: 0, timeout: 0, extraction: "gpt" }],
  ["memory", Memory, { cut: 1.5 }],
  ["realtime", Realtime, { firstFrame: 0, waitingOfOwner: 0, session: 0, idle: 0, inputBytes: 0, opening: 0 }],
  ["realtime", Realtime, { stuck: 0, lease: 0, vendorBuffer: 0 }],
  ["retention", Retention, { every: 0, batch: 0, logs: "a month", followUps: "x" }],
  ["retention", Retention, { logs: "23 hours", learnedRuns: "1 minute" }],
  ["schedules", Schedules, { poll: 0, most: -1 }],
  ["summaries", Summaries, { messageTokens: 0, summaryTokens: 0, timeout: 0, writer: {} }],
  ["voice", Voice, { maxRecordingBytes: 0, silence: 0, transcriptionTimeout: 0, recordings: "all" }],
  ["voice", Voice, { speechTimeout: 0, maxSpeechBytes: 0, storeTimeout: 0 }],
  ["web-search", search, { results: 0, maxText: 0, timeout: 0 }],
  ["webhooks", Webhooks, { poll: 0, keptDeliveries: 0.5 }]
] as const) {
  it.effect(`the wing ${wing} refuses ${JSON.stringify(settings)}`, () =>
    Effect.gen(function* () {
      const told = yield* adding(from, settings)
      assert.include(told, `The settings of "${wing}" cannot be used.`)
      assert.deepStrictEqual(
        Object.keys(settings).filter((name) => !told.includes(`\`${name}`)),
        []
      )
    })
  )
}

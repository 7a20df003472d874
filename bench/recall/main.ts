/**
 * `npm run bench:recall`: how often the evidence for a question is among the first ten chunks, on texts of this project's own, with a table of
 * what each part of the ranking is worth; then the same questions on every store, which must give equal tens. `COLLOQUY_LOCOMO=file` adds the
 * public LoCoMo set. No embedding model takes part.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Pglite } from "@colloquy/adapters/pglite"
import { Postgres } from "@colloquy/adapters/postgres"
import type { ChunkIndex } from "@colloquy/core/retrieval"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { ownConversation } from "./Conversation.ts"
import type { Corpus } from "./Corpus.ts"
import { ownDocuments } from "./Documents.ts"
import { locomo } from "./Locomo.ts"
import { measureFacts } from "./LocomoFacts.ts"
import { measureMemories, memoriesAround, memoryQuestions } from "./Memories.ts"
import { asShipped, measureRecall, type Recall, type Variant } from "./Recall.ts"

const without = (name: string, changes: Partial<Variant>): Variant => ({
  ...asShipped,
  name: `without ${name}`,
  ...changes
})

const variants: ReadonlyArray<Variant> = [
  asShipped,
  without("stemmer and stop words", { language: "other" }),
  without("neighbours", { weighting: { before: [], behind: [] } }),
  without("the second neighbours", { weighting: { before: [1], behind: [0.5] } }),
  without("headings and file names, or the day", { weighting: { context: 0 } }),
  without("days told relative to another", { weighting: { spokenDates: 0 } }),
  without("any date", { keepsDates: false }),
  without("less weight for questions", { weighting: { question: 1 } }),
  // What is not among them no reranker can find: the most that one of fifty hits reaches.
  { ...asShipped, name: "among fifty, for a reranker without mistakes", hits: 50 },
  { ...asShipped, name: "with the pivot of turns (80)", weighting: { pivot: 80 } },
  { ...asShipped, name: "with the pivot of documents (300)", weighting: { pivot: 300 } }
]

const file = process.env["COLLOQUY_LOCOMO"]
const corpora: ReadonlyArray<Corpus> = [ownConversation, ownDocuments, ...(file === undefined ? [] : [locomo(file)])]

const url = process.env["TEST_DATABASE_URL"]
const stores: ReadonlyArray<readonly [string, Layer.Layer<ChunkIndex, unknown>]> = [
  ["in-memory", InMemory.layerChunkIndex],
  ["PGlite", Layer.provide(Postgres.layerChunkIndex(), Pglite.layerClient())],
  ...(url === undefined
    ? []
    : [
        [
          "Postgres",
          Layer.provide(Postgres.layerChunkIndex({ schema: "recall" }), PgClient.layer({ url: Redacted.make(url) }))
        ] as const
      ])
]

const line = (name: string, { any, mean, millis }: Recall): string =>
  `${name.padEnd(46)} ${any.toFixed(1).padStart(6)} ${mean.toFixed(1).padStart(6)} ${millis.toFixed(1).padStart(8)}`

const measure = (corpus: Corpus, variant: Variant, store: Layer.Layer<ChunkIndex, unknown>): Promise<Recall> =>
  Effect.runPromise(Effect.provide(measureRecall(corpus, variant), store))

let isEqual = true
for (const corpus of corpora) {
  const reference = await measure(corpus, asShipped, InMemory.layerChunkIndex)
  console.log(`\n${`${corpus.name}, ${reference.questions} questions`.padEnd(46)} any@10  mean  p50 ms`)
  for (const variant of variants) {
    console.log(line(variant.name, await measure(corpus, variant, InMemory.layerChunkIndex)))
  }
  for (const [name, store] of stores) {
    const found = await measure(corpus, asShipped, store)
    const equal = found.tens.filter((ten, at) => ten === reference.tens[at]).length
    isEqual &&= equal === found.tens.length
    console.log(`${line(`through ${name}`, found)}  ${equal} of ${found.tens.length} tens equal`)
  }
}
console.log(
  `\nmemories: ${memoryQuestions} learned from turns among ${memoriesAround} others`.padEnd(50) + "  at 5  at 10"
)
const memoryStores = [
  ["in-memory", InMemory.layer],
  ["PGlite", Pglite.layer()],
  ...(url === undefined
    ? []
    : [["Postgres", Postgres.layer({ url: Redacted.make(url), schema: "recall_memories" })] as const])
] as const
for (const [name, store] of memoryStores) {
  for (const { at10, at5, name: how } of await Effect.runPromise(measureMemories(store))) {
    console.log(`${`${how}, ${name}`.padEnd(50)} ${at5.toFixed(1).padStart(5)} ${at10.toFixed(1).padStart(6)}`)
  }
}
if (file !== undefined) {
  console.log("\nmemories: facts of LoCoMo's turns".padEnd(51) + "  at 5  at 10")
  for (const [how, withWords] of [
    ["by facts and the words they were told in", true],
    ["by the facts alone", false]
  ] as const) {
    const { at10, at5, questions } = await Effect.runPromise(measureFacts(file, InMemory.layer, withWords))
    console.log(
      `${`${how}, ${questions} questions`.padEnd(50)} ${at5.toFixed(1).padStart(5)} ${at10.toFixed(1).padStart(6)}`
    )
  }
}
if (!isEqual) {
  console.log("\nThe stores do not rank alike.")
  process.exitCode = 1
}

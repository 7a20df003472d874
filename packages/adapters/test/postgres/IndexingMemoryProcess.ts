/**
 * Started by a test: indexes a small text and then 4 MB in a database in a folder, as the standalone server does, and writes by how many MB the
 * process has grown at most meanwhile.
 */
import { Assistants, Kernel, Principal, Providers } from "@colloquy/core"
import { type Document, Documents } from "@colloquy/core/documents"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { FileExtractor } from "../../src/files/index.ts"
import { Pglite } from "../../src/pglite/index.ts"

/** Sentences of 40,000 words, of which few are frequent and most are rare. */
function* sentences(size: number): Generator<Uint8Array> {
  const encoder = new TextEncoder()
  let seed = 7
  const random = () => (seed = (seed * 1_103_515_245 + 12_345) & 0x7fff_ffff) / 0x7fff_ffff
  const word = () => `w${Math.floor(random() ** 3 * 40_000).toString(36)}er`
  for (let length = 0; length < size;) {
    const lines = Array.from({ length: 500 }, () => `${Array.from({ length: 15 }, word).join(" ")}.`).join("\n")
    length += lines.length
    yield encoder.encode(`${lines}\n\n`)
  }
}

const ended = (
  id: Document["id"]
): Effect.Effect<Document, Effect.Error<ReturnType<typeof Documents.Service.get>>, Documents | Principal> =>
  Effect.flatMap(
    Documents.use((documents) => documents.get(id)),
    (document) => (document.status === "processing" ? Effect.delay(ended(id), "50 millis") : Effect.succeed(document))
  )

const indexed = Effect.fnUntraced(function* (assistantId: Effect.Success<ReturnType<typeof made>>, size: number) {
  const bytes = Stream.fromIterable(sentences(size))
  const scope = { _tag: "Assistant", assistantId } as const
  const { id } = yield* Documents.use((documents) => documents.upload({ scope, filename: "a.txt", bytes }))
  return yield* ended(id)
})

const made = () =>
  Effect.map(
    Assistants.use((assistants) => assistants.create({ name: "Reader" })),
    ({ id }) => id
  )

const storage = Pglite.layer({ dataDir: process.argv[2] ?? "" })
const provider = { id: "p", chat: () => Stream.empty }
const room = Documents.layer().pipe(
  Layer.provideMerge(Kernel.layer),
  Layer.provide([
    Providers.layer({ providers: [provider], defaults: { provider: "p", model: "m" } }),
    FileExtractor.layer()
  ]),
  Layer.provideMerge(storage)
)

const grown = Effect.gen(function* () {
  const assistantId = yield* made()
  yield* indexed(assistantId, 20_000)
  const before = process.memoryUsage().rss / 1_000_000
  const { chunkCount, status } = yield* indexed(assistantId, 4_000_000)
  if (status !== "completed" || (chunkCount ?? 0) < 1_500) throw new Error(`The text was not indexed: ${status}`)
  return (process.resourceUsage().maxRSS * 1024) / 1_000_000 - before
}).pipe(Principal.provide("ada"), Effect.provide(room))

process.stdout.write(String(await Effect.runPromise(grown)))

/**
 * Run (i): files from their bytes to the index, through `Documents` on Postgres with the extractor's processes. A PDF of 100 pages, against
 * reading it alone, without chunks and database; and what this process grows by while 20 texts of 1 MB are uploaded and indexed at once.
 */
import { FileExtractor } from "@colloquy/adapters/files"
import { Postgres } from "@colloquy/adapters/postgres"
import { ScriptedModel } from "@colloquy/testing"
import { Assistants, Kernel, Principal } from "@colloquy/core"
import { type Document, Documents, fileTypeForExtension, TextExtractor } from "@colloquy/core/documents"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import pg from "pg"
import { inRounds, inTurns } from "../Figures.ts"
import type { Row } from "../Report.ts"

const schema = "bench_files"
const pages = 100

/** A PDF as a program writes it: a page of forty lines each. */
const pdf = (): Uint8Array => {
  const objects: Array<string> = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "",
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
  ]
  const kids: Array<string> = []
  for (let page = 0; page < pages; page++) {
    const lines = Array.from(
      { length: 40 },
      (_, line) => `(Page ${page} says in line ${line} that badgers dig setts below the old trees.) Tj 0 -16 Td`
    )
    const content = `BT /F1 11 Tf 72 740 Td ${lines.join("\n")} ET`
    objects.push(`<< /Length ${content.length} >>\nstream\n${content}\nendstream`)
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${objects.length} 0 R >>`
    )
    kids.push(`${objects.length} 0 R`)
  }
  objects[1] = `<< /Type /Pages /Kids [${kids.join(" ")}] /Count ${pages} >>`
  let file = "%PDF-1.4\n"
  const places: Array<number> = []
  for (const [index, body] of objects.entries()) {
    places.push(file.length)
    file += `${index + 1} 0 obj\n${body}\nendobj\n`
  }
  const table = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("")
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`
  return new TextEncoder().encode(file)
}

const megabyte = (seed: number): Uint8Array => {
  const sentence = (index: number) =>
    `Note ${seed} of badger ${index} says that setts are dug in soil number ${index * 7}.`
  return new TextEncoder().encode(Array.from({ length: 17_000 }, (_, index) => sentence(index)).join("\n\n"))
}

const ended = (id: Document["id"]): Effect.Effect<Document, unknown, Documents | Principal> =>
  Effect.flatMap(
    Documents.use((documents) => documents.get(id)),
    (document) => (document.status === "processing" ? Effect.delay(ended(id), "20 millis") : Effect.succeed(document))
  )

/** The text alone: no chunks, no database. */
const read = Effect.fnUntraced(function* (bytes: Uint8Array) {
  const type = fileTypeForExtension("pdf")
  if (type === undefined) throw new Error("PDF is not a type of files any more.")
  return yield* (yield* TextExtractor).extract({ type, size: bytes.length, bytes: Stream.make(bytes.slice()) })
})

/** Uploads a file to an assistant of its own, and waits until it is indexed. */
const indexed = Effect.fnUntraced(function* (filename: string, bytes: Uint8Array) {
  const { id: assistantId } = yield* (yield* Assistants).create({ name: "Reader" })
  const scope = { _tag: "Assistant", assistantId } as const
  const { id } = yield* (yield* Documents).upload({ scope, filename, bytes: Stream.make(bytes) })
  const document = yield* ended(id)
  if (document.status === "error") throw new Error(document.statusMessage ?? "The file was not indexed.")
  return document
})

/** By how many MB the memory of the process grows at most during the work. */
const growthDuring = async (work: () => Promise<unknown>): Promise<number> => {
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 10)
  await work().finally(() => clearInterval(watch))
  return (most - before) / 1e6
}

export const files = async (url: string, rounds: number): Promise<ReadonlyArray<Row>> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`drop schema if exists ${schema} cascade`)
  const stores = Layer.merge(Postgres.layerFromClient({ schema }), Postgres.layerChunkIndex({ schema }))
  const runtime = ManagedRuntime.make(
    Documents.layer().pipe(
      Layer.provideMerge(Kernel.layer),
      Layer.provide([FileExtractor.layer(), ScriptedModel.layer([]), Logger.layer([])]),
      Layer.provide(stores),
      Layer.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 8 }))
    )
  )
  const run = <A>(effect: Effect.Effect<A, unknown, Documents | Assistants | Principal>): Promise<A> =>
    runtime.runPromise(Principal.provide("bench")(effect))

  const extractor = FileExtractor.layer()
  const book = pdf()
  const found: readonly [Array<number>, Array<number>] = [[], []]
  const both = [
    () => run(indexed("book.pdf", book)),
    () => Effect.runPromise(Effect.provide(read(book), extractor))
  ] as const
  for (let round = 0; round <= rounds; round++) {
    for (const [index, work] of inTurns<() => Promise<unknown>>(both, round)) {
      const start = performance.now()
      await work()
      if (round > 0) found[index]?.push(performance.now() - start)
    }
  }
  const texts = Array.from({ length: 20 }, (_, seed) => megabyte(seed))
  const start = performance.now()
  const growth = await growthDuring(() =>
    run(
      Effect.forEach(texts, (bytes, index) => indexed(`${index}.txt`, bytes), {
        concurrency: "unbounded",
        discard: true
      })
    )
  )
  const seconds = (performance.now() - start) / 1000
  await runtime.dispose()
  await client.query(`drop schema ${schema} cascade`)
  await client.end()
  const row = { store: "postgres", target: null }
  return [
    {
      ...row,
      what: `a PDF of ${pages} pages, from upload to indexed, against reading it`,
      unit: "ms",
      ...inRounds(...found)
    },
    { ...row, what: "20 texts of 1.4 MB, uploaded and indexed at once", unit: "s", kernel: seconds, baseline: null },
    {
      ...row,
      what: "growth of the process meanwhile",
      unit: "MB",
      kernel: growth,
      baseline: null,
      target: { of: "value", sense: "at most", bound: 300 }
    }
  ]
}

/** Text is cut away from the server's event loop, as core cuts it, and one owner's files do not make another owner wait. */
import { Principal } from "@colloquy/core"
import { estimateTokens } from "@colloquy/core/adapters"
import { fileTypeForExtension, type FileToRead, type TextCutting, TextExtractor } from "@colloquy/core/documents"
import { type Prepared, prepareDocument } from "@colloquy/core/retrieval"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { longestStretch, onThisMachine } from "../../../../test/LongestStretch.ts"
import { FileExtractor } from "../../src/files/index.ts"
import { utf8 } from "./MadeFiles.ts"

const file = (extension: string, bytes: Uint8Array): FileToRead<never, never> => {
  const type = fileTypeForExtension(extension)
  assert.isDefined(type)
  return { type, size: bytes.length, bytes: Stream.make(bytes) }
}

const cutting: TextCutting = { title: "tea.txt", chunkTokens: 400, chunkOverlap: 50, mostChunks: 30_000 }

const prepare = Effect.fnUntraced(function* (extension: string, bytes: Uint8Array, how: Partial<TextCutting> = {}) {
  const extractor = yield* TextExtractor
  assert.isDefined(extractor.prepare)
  return yield* extractor.prepare(file(extension, bytes), { ...cutting, ...how })
})

const plain = ({ chunks, language }: Pick<Prepared, "chunks" | "language">) => ({
  language,
  chunks: chunks.map(({ chunk, impacts }) => ({ chunk, impacts }))
})

const sentences = "Sencha is steamed. Is it green? Gyokuro grows in the shade, and matcha is ground from it.\n\n"

const texts = {
  txt: sentences.repeat(300),
  md: `# Tea\n\n${sentences.repeat(40)}## Green\n\n${sentences.repeat(200)}`,
  csv: `name;price\n${"sencha;5\ngyokuro;9\n".repeat(2000)}`,
  jsonl: '{"name":"sencha"}\n'.repeat(3000),
  ts: "function steam() {\n  return 80\n}\n\n".repeat(800)
}

describe("a text is cut in the reader's process", () => {
  it.live.each(Object.entries(texts))("as core cuts it: %s", ([extension, text]) =>
    Effect.gen(function* () {
      const extractor = yield* TextExtractor
      const sections = yield* extractor.extract(file(extension, utf8(text)))
      const expected = prepareDocument(cutting.title, sections, { tokens: 400, overlap: 50, count: estimateTokens })
      const prepared = yield* prepare(extension, utf8(text))
      assert.isAtLeast(prepared.chunks.length, 10)
      assert.deepStrictEqual(plain(prepared), plain(expected))
    }).pipe(Effect.provide(FileExtractor.layer()))
  )

  it.live("of a text without words there are no chunks", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* prepare("txt", utf8(" \n "))).chunks, [])
    }).pipe(Effect.provide(FileExtractor.layer()))
  )

  it.live("a text of more chunks than a document may have is refused with a sentence", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(prepare("txt", utf8(texts.txt), { mostChunks: 12 }))
      assert.strictEqual(
        `${error.reason}: ${error.message}`,
        "too_large: The file is too large to be searched: its text makes more than 12 parts. Split it into several files."
      )
    }).pipe(Effect.provide(FileExtractor.layer()))
  )

  const hostile: ReadonlyArray<readonly [string, string, () => string]> = [
    ["paragraphs", "txt", () => sentences.repeat(60_000)],
    ["one JSON line", "json", () => `{${'"key":123,'.repeat(400_000)}"end":1}`],
    ["one word", "txt", () => "x".repeat(5_000_000)],
    ["quotes that nothing closes", "csv", () => '"a\n'.repeat(1_500_000)]
  ]
  it.live.each(hostile)(
    "megabytes of %s leave the event loop free",
    ([, extension, make]) =>
      Effect.gen(function* () {
        const bytes = utf8(make())
        const stretches = longestStretch()
        yield* Effect.result(prepare(extension, bytes))
        assert.isBelow(stretches.end(), onThisMachine(50))
      }).pipe(Effect.provide(FileExtractor.layer())),
    90_000
  )
})

describe("files of several owners", () => {
  const worker = new URL("ObedientProcess.ts", import.meta.url)
  const read = (owner: string, text: string) =>
    Effect.gen(function* () {
      const extractor = yield* TextExtractor
      const [section] = yield* extractor.extract(file("txt", utf8(text)))
      return section?.text
    }).pipe(Principal.provide(owner))

  it.live("one that is busy does not make another wait, with small files or large ones", () =>
    Effect.gen(function* () {
      const crowd = yield* Effect.forEach(
        Array.from({ length: 30 }, () => read("busy", "busy")),
        (each) => Effect.forkChild(each, { startImmediately: true })
      )
      for (const _ of [1, 2, 3]) assert.strictEqual(yield* read("other", "tea"), "tea 0")
      assert.strictEqual(yield* read("other", "grow"), "grow 400000000")
      yield* Fiber.interruptAll(crowd)
    }).pipe(Effect.provide(FileExtractor.layer({ worker })))
  )

  it.live("a small file that needs more than a small one may is read as a large one", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* read("owner", "grow"), "grow 400000000")
      const error = yield* Effect.flip(
        read("owner", "grow").pipe(Effect.provide(FileExtractor.layer({ worker, growth: 300 })))
      )
      assert.strictEqual(error.reason, "too_large")
    }).pipe(Effect.provide(FileExtractor.layer({ worker })))
  )
})

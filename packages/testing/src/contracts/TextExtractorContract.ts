/** The contract of `TextExtractor`. The suite knows no format: the adapter's test brings the files. */
import { fileTypeForExtension, TextExtractor } from "@colloquy/core/documents"
import { assert, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

/** The bytes of a file and its extension. */
export interface SampleFile {
  readonly extension: string
  readonly bytes: Uint8Array
}

/** Files that can be read with their texts, and files that cannot. */
export interface FileSamples {
  /** Files with the text of their sections. */
  readonly readable: ReadonlyArray<readonly [file: SampleFile, texts: ReadonlyArray<string>]>
  readonly empty: SampleFile
  /** Damaged, protected and malicious files. */
  readonly refused: ReadonlyArray<readonly [what: string, file: SampleFile]>
  /** The extractor does not come to the end of this file within the time of a test. */
  readonly endless: SampleFile
}

const sampleFile = ({ bytes, extension }: SampleFile, onRead: Effect.Effect<unknown> = Effect.void) =>
  Effect.sync(() => {
    const type = fileTypeForExtension(extension)
    if (type === undefined) throw new Error(`There is no type for ".${extension}".`)
    const pieces = [bytes.subarray(0, bytes.length >> 1), bytes.subarray(bytes.length >> 1)]
    return { type, size: bytes.length, bytes: Stream.onEnd(Stream.fromIterable(pieces), onRead) }
  })

const extract = (sample: SampleFile, onRead?: Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    return yield* (yield* TextExtractor).extract(yield* sampleFile(sample, onRead))
  })

/** What every reader of files must do. */
export const textExtractorSuite = (
  name: string,
  extractor: Layer.Layer<TextExtractor, unknown>,
  { empty, endless, readable, refused }: FileSamples
): void =>
  layer(extractor, { excludeTestServices: true, timeout: "2 minutes" })(
    `the contract of TextExtractor: ${name}`,
    (it) => {
      const readsAll = Effect.gen(function* () {
        for (const [file, texts] of readable) {
          assert.deepStrictEqual(
            (yield* extract(file)).map(({ text }) => text),
            texts
          )
        }
      })

      it.effect("MUST return the text in reading order", () => readsAll)

      it.effect("MUST return no section for a file without text", () =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* extract(empty), [])
        })
      )

      for (const [what, file] of refused) {
        it.effect(`MUST fail with ExtractionFailed on ${what}, and read the next file`, () =>
          Effect.gen(function* () {
            assert.strictEqual((yield* Effect.flip(extract(file)))._tag, "ExtractionFailed")
            yield* readsAll
          })
        )
      }

      it.effect("MUST fail with ExtractionFailed on a text of too many chunks, and read the next file", () =>
        Effect.gen(function* () {
          const { prepare } = yield* TextExtractor
          const [first] = readable
          if (prepare === undefined || first === undefined) return
          const cutting = { title: "file", chunkTokens: 400, chunkOverlap: 50, mostChunks: 0 }
          const refusal = yield* Effect.flip(Effect.flatMap(sampleFile(first[0]), (file) => prepare(file, cutting)))
          assert.deepInclude(refusal, { _tag: "ExtractionFailed", reason: "too_large" })
          yield* readsAll
        })
      )

      it.effect("MUST stop when it is interrupted, and read the next file", () =>
        Effect.gen(function* () {
          const isRead = yield* Deferred.make<void>()
          const reading = yield* Effect.forkChild(extract(endless, Deferred.succeed(isRead, undefined)))
          yield* Deferred.await(isRead)
          yield* Fiber.interrupt(reading)
          yield* readsAll
        })
      )
    }
  )

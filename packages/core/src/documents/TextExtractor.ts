/**
 * Port: the text of a file, in sections with their places. Files come from outside and may be made to do harm, so an extractor bounds time
 * and memory. `ImageReader` is the part of it that reads pictures; a host chooses one, because it costs a lot or asks a model.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { Section } from "../retrieval/Section.ts"
import type { FileType } from "./FileType.ts"

/** The file is the reason, and the same file will fail again. `sentence` is for the person who uploaded it. */
export class ExtractionFailed extends Schema.TaggedError<ExtractionFailed>()("ExtractionFailed", {
  reason: Schema.Literals(["encrypted", "damaged", "too_large", "too_slow", "unsupported"]),
  sentence: Schema.String
}) {
  override get message() {
    return this.sentence
  }
}

export interface FileToRead<E, R> {
  readonly type: FileType
  readonly size: number
  readonly bytes: Stream.Stream<Uint8Array, E, R>
}

export class TextExtractor extends Context.Service<
  TextExtractor,
  {
    /** The extensions that it reads here, with the packages that are installed. */
    readonly readable: ReadonlyArray<string>
    /**
     * MUST give the text in reading order; none when the file has no text. MUST fail with `ExtractionFailed`, within a bounded time and in
     * bounded memory, for a file that is broken, protected, or made to do harm; the process lives. MUST stop when it is interrupted.
     */
    readonly extract: <E, R>(file: FileToRead<E, R>) => Effect.Effect<ReadonlyArray<Section>, ExtractionFailed | E, R>
  }
>()("@colloquy/core/documents/TextExtractor") {}

export interface ImageReaderPort {
  /** The extensions that it reads. */
  readonly readable: ReadonlyArray<string>
  /** The words in a picture; empty when there are none. */
  readonly read: (image: {
    readonly type: FileType
    readonly bytes: Uint8Array
  }) => Effect.Effect<string, ExtractionFailed>
}

/** Who reads pictures. The default reads none. */
export const ImageReader = Context.Reference<ImageReaderPort | null>("@colloquy/core/documents/ImageReader", {
  defaultValue: () => null
})

/**
 * Port: extracts the text of a file, in sections with their positions, and cuts it into chunks where it can do so away from the server's event
 * loop. Files come from outside and may be malicious, so an extractor limits time and memory. `ImageReader` is its part for pictures; a host
 * chooses one, because reading pictures needs much computing or a model.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { Prepared } from "../retrieval/Indexing.ts"
import type { Section } from "../retrieval/Section.ts"
import type { FileType } from "./FileType.ts"

/** The file is the cause, and a retry would fail again. `sentence` is for the person who uploaded it. */
export class ExtractionFailed extends Schema.TaggedError<ExtractionFailed>()("ExtractionFailed", {
  reason: Schema.Literals(["encrypted", "damaged", "too_large", "too_slow", "unsupported"]),
  sentence: Schema.String
}) {
  override get message() {
    return this.sentence
  }
}

/** A file whose text is wanted. */
export interface FileToRead<E, R> {
  readonly type: FileType
  readonly size: number
  readonly bytes: Stream.Stream<Uint8Array, E, R>
}

/** How a text is cut. Tokens are counted as `estimateTokens` does, because a host's counter cannot leave its process. */
export interface TextCutting {
  /** The name of the document, by which every chunk is found too. */
  readonly title: string
  readonly chunkTokens: number
  readonly chunkOverlap: number
  /** A text of more chunks is refused. */
  readonly mostChunks: number
}

export class TextExtractor extends Context.Service<
  TextExtractor,
  {
    /** The extensions that it reads in this process, with the packages that are installed. */
    readonly readable: ReadonlyArray<string>
    /**
     * MUST return the text in reading order; none when the file has no text. For a file that is damaged, protected or malicious, MUST fail
     * with `ExtractionFailed` in bounded time and memory, without ending the process. MUST stop when it is interrupted.
     */
    readonly extract: <E, R>(file: FileToRead<E, R>) => Effect.Effect<ReadonlyArray<Section>, ExtractionFailed | E, R>
    /**
     * The text as `prepareDocument` cuts it, for an extractor that works in another process. MUST fail as `extract` does, also when the cutting
     * takes too long or the text has too many chunks. The event loop stays free, whatever the text is. Without it the server cuts the
     * sections of `extract` itself, in steps.
     */
    readonly prepare?: <E, R>(
      file: FileToRead<E, R>,
      cutting: TextCutting
    ) => Effect.Effect<Prepared, ExtractionFailed | E, R>
  }
>()("@colloquy/core/documents/TextExtractor") {}

/** Reads the words in pictures. */
export interface ImageReaderPort {
  /** The extensions that it reads. */
  readonly readable: ReadonlyArray<string>
  /** The words in a picture; empty when there are none. */
  readonly read: (image: {
    readonly type: FileType
    readonly bytes: Uint8Array
  }) => Effect.Effect<string, ExtractionFailed>
}

/** The host's reader of pictures. Null, the default: no picture is read. */
export const ImageReader = Context.Reference<ImageReaderPort | null>("@colloquy/core/documents/ImageReader", {
  defaultValue: () => null
})

/**
 * A chunk as it came from the process that prepared it. Its terms stay bytes until a store takes them. As maps, the terms of a large
 * document would take five times the memory while the document waits for its vectors.
 */
import type { Chunk, Impacts, IndexedChunk } from "@colloquy/core/retrieval"
import { deserialize } from "node:v8"
import type { ChunkPart } from "./prepareFile.ts"

class ReceivedChunk implements IndexedChunk {
  readonly chunk: Chunk
  readonly #impacts: Uint8Array

  constructor(chunk: Chunk, impacts: Uint8Array) {
    this.chunk = chunk
    this.#impacts = impacts
  }

  get impacts(): Impacts {
    return deserialize(this.#impacts)
  }
}

export const receivedChunks = (parts: ReadonlyArray<ChunkPart>): ReadonlyArray<IndexedChunk> =>
  parts.flatMap(({ chunks, impacts }) =>
    chunks.flatMap((chunk, index) => {
      const terms = impacts[index]
      return terms === undefined ? [] : [new ReceivedChunk(chunk, terms)]
    })
  )

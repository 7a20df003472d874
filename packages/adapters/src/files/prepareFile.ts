/** Reads a file. On request, cuts its text into chunks with their terms, which are sent to the host in parts. */
import type { TextCutting } from "@colloquy/core/documents"
import type { Chunk, Language, Section } from "@colloquy/core/retrieval"
import { serialize } from "node:v8"
import type { SendPart } from "./answerOnce.ts"
import { type FileTask, readFile } from "./readFile.ts"
import { Refused } from "./Refused.ts"

/** Some chunks in order. The terms of each are in V8's serialization format, because the host needs them later and few at a time. */
export interface ChunkPart {
  readonly chunks: ReadonlyArray<Chunk>
  readonly impacts: ReadonlyArray<Uint8Array>
}

/** About 200 kB, which the host receives in a millisecond. */
const chunksInPart = 64

/** The sections of the file, or, after all parts, the language of its text. */
export const prepareFile = async (
  task: FileTask,
  bytes: Uint8Array<ArrayBuffer>,
  sendPart: SendPart<ChunkPart>
): Promise<ReadonlyArray<Section> | Language> => {
  const sections = await readFile(task, bytes)
  return task.cutting === null ? sections : prepare(sections, task.cutting, sendPart)
}

const prepare = async (
  sections: ReadonlyArray<Section>,
  { chunkOverlap, chunkTokens, mostChunks, title }: TextCutting,
  sendPart: SendPart<ChunkPart>
): Promise<Language> => {
  // Imported only here, because a file that cannot be read needs nothing of it.
  const { estimateTokens, prepareText, tooManyChunks } = await import("@colloquy/core/prepare")
  const size = { tokens: chunkTokens, overlap: chunkOverlap, count: estimateTokens }
  const { chunks: all, count, language } = prepareText(title, sections, size)
  if (count > mostChunks) throw new Refused("too_large", tooManyChunks(mostChunks))
  let chunks: Array<Chunk> = []
  let impacts: Array<Uint8Array> = []
  const flush = () => {
    sendPart({ chunks, impacts })
    chunks = []
    impacts = []
  }
  for (const each of all) {
    chunks.push(each.chunk)
    impacts.push(serialize(each.impacts))
    if (chunks.length === chunksInPart) flush()
  }
  flush()
  return language
}

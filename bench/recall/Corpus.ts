/** What recall is measured on: groups that are searched as a whole, each with its documents and questions. */
import type { ChunkHit, Passage, Section } from "@colloquy/core/retrieval"

/** Where a hit comes from: the number of its document in the group, and the hit itself. */
export interface Found {
  readonly document: number
  readonly hit: ChunkHit
}

export interface Question {
  readonly text: string
  /** Pieces of evidence; each says whether a hit is it. */
  readonly evidence: ReadonlyArray<(found: Found) => boolean>
}

export type Source =
  | { readonly kind: "turns"; readonly turns: ReadonlyArray<Passage> }
  | { readonly kind: "file"; readonly title: string; readonly sections: ReadonlyArray<Section> }

export interface Group {
  readonly sources: ReadonlyArray<Source>
  readonly questions: ReadonlyArray<Question>
}

export interface Corpus {
  readonly name: string
  readonly groups: ReadonlyArray<Group>
}

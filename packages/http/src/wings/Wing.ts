/**
 * What HTTP knows of one part of turns: which fields of a message speak to it, which of its events and supplements the wire shows, and which
 * endpoints belong to its room. One file a wing, and a line in `Wings.ts`. Whether the kernel has the part is asked of `TurnParts` at each
 * request: without it, a field that asks for it is a 422 and an endpoint of its room a 501, both with a sentence.
 */
import type { TurnEvent } from "@colloquy/core"
import type * as Schema from "effect/Schema"
import type { Installed, Path, RawFields } from "../bodies/RawFields.ts"
import type { RawBody } from "../bodies/RequestBody.ts"
import type { UrlOf } from "../links/Links.ts"
import type { ValidationError } from "../wire/Errors.ts"
import type { MessageRequest, StatelessMessageBody } from "../wire/MessageBody.ts"
import type { MessageResponse } from "../wire/Records.ts"

export type MessageFields = MessageRequest | StatelessMessageBody

/** A field of a message that asks the part for something. */
export interface AskedField {
  readonly path: Path
  /** What is asked for, as the subject of a sentence: `Memory`, `Web search`. */
  readonly title: string
}

export interface MessageWords {
  /** The fields that `asked` and `problems` depend on. A message that has none of them, and no files, is of no concern to the part. */
  readonly concerns: ReadonlyArray<string>
  /** The fields that ask the part for something; none where they are absent or say `off`. */
  readonly asked: (fields: RawFields) => ReadonlyArray<AskedField>
  /** Fields that say how, and have no effect where `of` does not ask. */
  readonly details?: { readonly of: string; readonly fields: ReadonlyArray<string> }
  /** What is asked for is done by a model, and not for a message that is only saved. */
  readonly needsModel?: boolean
  /** Rules between fields. They hold whether the part is there or not. */
  readonly problems?: (fields: RawFields, raw: RawBody, installed: Installed) => ReadonlyArray<ValidationError>
  /** What the part is told (`TurnRequest.options`) when a field asks for it. */
  readonly options: (fields: MessageFields, files: RawBody["files"]) => Schema.Json
  /** The field that a problem in these options is about. Absent: the options have the names of the wire. */
  readonly place?: (path: Path) => Path
}

/** The values that a part keeps, null where it keeps none. */
export interface Kept {
  readonly answer: Schema.Json | null
  readonly userMessage: Schema.Json | null
  /** The run of the message when it has completed, null otherwise. */
  readonly completedRun: string | null
}

/** The fields of replies and messages that belong to parts. */
export type PartFields = Pick<
  MessageResponse,
  | "system_one"
  | "memory_operation_id"
  | "retrieved_memories"
  | "retrieved_files"
  | "retrieved_files_count"
  | "attachments"
  | "generated_media"
  | "metadata_"
  | "voice_records"
>

export type PartTold = Extract<TurnEvent, { readonly _tag: "PartTold" }>

export type AbsentMethod = "GET" | "POST" | "PUT" | "DELETE"

export interface Wing {
  /** The name of the part, and the key of its options and supplements. */
  readonly part: string
  readonly message?: MessageWords
  /** What the part keeps, as fields of the wire. Addresses of documents are written now, because they are good for a while only. */
  readonly fields?: (kept: Kept, urlOf: UrlOf) => Partial<PartFields>
  /** Absent: an event of the part goes out under its own type, with the fields of its data. */
  readonly event?: (event: PartTold, urlOf: UrlOf) => Schema.JsonObject
  /** Endpoints of the room that no group of `Api.ts` has. They answer 501. */
  readonly absent?: {
    /** The room in the plural, as the subject of a sentence: `Documents`. */
    readonly title: string
    readonly endpoints: ReadonlyArray<readonly [AbsentMethod, `/${string}`]>
  }
}

/**
 * The HTTP side of one part of turns: the fields of a message that are for the part, the form of its supplements and events on the wire,
 * and its endpoints. The rooms of the kernel have one file each beside this one; a host gives its own as `wings` of `webHandler`. Whether
 * the kernel has the part is asked of `TurnParts` at each request: without it, a field that asks for it is a 422.
 */
import type { Kernel, TurnEvent } from "@colloquy/core"
import type * as HttpRouter from "effect/http/HttpRouter"
import type * as HttpApi from "effect/http-api/HttpApi"
import type * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import type { Installed, Path, RawFields } from "../bodies/RawFields.ts"
import type { RawBody } from "../bodies/RequestBody.ts"
import type { UrlOf } from "../links/Links.ts"
import type { ValidationError } from "../wire/Errors.ts"
import type { Authorization, RateLimit, Validation } from "../wire/Middleware.ts"
import type { MessageBody, StatelessMessageBody } from "../wire/MessageBody.ts"
import type { MessageResponse } from "../wire/Records.ts"

export type MessageFields = MessageBody | StatelessMessageBody

/** A field of a message that asks the part for something. */
export interface AskedField {
  readonly path: Path
  /** The name of the feature, as the subject of a sentence: `Memory`, `Web search`. */
  readonly title: string
}

/** The schema of each field, by the field's name on the wire. The value there is JSON. */
export type OwnFields = Readonly<Record<string, Schema.ConstraintCodec<unknown, unknown>>>

/** The fields of a message that belong to one part of turns. */
export interface MessageWords {
  /** The fields that `asked` and `problems` depend on. A message that has none of them, and no files, is of no concern to the part. */
  readonly concerns: ReadonlyArray<string>
  /** The fields of messages that the wing brought, with their schemas: for the API description. Absent: they are fields of the API. */
  readonly own?: OwnFields
  /** The fields that ask the part for something; none where they are absent or say `off`. */
  readonly asked: (fields: RawFields) => ReadonlyArray<AskedField>
  /** Fields with settings. They have no effect unless the field that `of` names asks for the part. */
  readonly details?: { readonly of: string; readonly fields: ReadonlyArray<string> }
  /** True: a model does the work of this field, so the field has no effect in a message that is only saved. */
  readonly needsModel?: boolean
  /** Rules between fields. They hold whether the part is there or not. */
  readonly problems?: (fields: RawFields, raw: RawBody, installed: Installed) => ReadonlyArray<ValidationError>
  /** The options of the part (`TurnRequest.options`) when a field asks for it. */
  readonly options: (fields: MessageFields, raw: RawBody) => Schema.Json
  /** The field that a problem in these options is about. Absent: the options have the names of the wire. */
  readonly bodyPath?: (path: Path) => Path
}

/** The values that a part keeps. Null: it keeps none. */
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
> & {
  /** Fields that the API does not have. One that has the name of a field of the API is not shown. */
  readonly added: Readonly<Record<string, Schema.Json>>
}

/** An event of a part for the readers of a turn. */
export type PartTold = Extract<TurnEvent, { readonly _tag: "PartTold" }>

export interface Wing {
  /** The name of the part, and the key of its options and supplements. */
  readonly part: string
  readonly message?: MessageWords
  /** The part's supplements as fields of the wire. Addresses of documents are written now, because they are good for a while only. */
  readonly fields?: (kept: Kept, urlOf: UrlOf) => Partial<PartFields>
  /**
   * An event as it goes out. Without a `type` it has the type that the part told; with a type of the API it is left out, with a line in the log.
   * Null: it does not go out. Absent: an event of the part goes out under its own type, with the fields of its data.
   */
  readonly event?: (event: PartTold, urlOf: UrlOf) => Schema.JsonObject | null
  /**
   * The schemas of what `fields` adds, and of the fields of each event by its type on the wire. They stand in the descriptions of the API, as
   * fields that may be absent. A value that does not fit its schema is left out, with a line in the log. A field without a schema is shown as
   * it is, and not described.
   */
  readonly schemas?: { readonly fields?: OwnFields; readonly events?: Readonly<Record<string, OwnFields>> }
  /** Endpoints of its own under the base path: see `served`. */
  readonly endpoints?: WingEndpoints
}

/** Endpoints of your own beside those of the API: their routes, and how the API description tells of them. */
export interface WingEndpoints {
  readonly routes: WingRoutes
  /** Adds the endpoints to the description of the API. Absent: they are not described. */
  readonly describe?: <Described extends HttpApi.Constraint>(api: Described) => Described
  /** Names each endpoint, for the answer 405 to other methods of its path. */
  readonly reflect?: (add: (endpoint: { readonly method: string; readonly path: string }) => void) => void
}

/** The services that the routes of a wing may use: the kernel's use cases, and the guards and settings of the API that mounts them. */
export type WingServices = Authorization | RateLimit | Validation | Kernel.Kernel
export type WingRoutes = Layer.Layer<never, never, HttpRouter.HttpRouter | WingServices>

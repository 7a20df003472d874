/** Assistants over HTTP: decode, call the use case, encode. */
import { type Assistant, AssistantId, Assistants, Threads } from "@colloquy/core"
import { type AssistantUpdate as Update, type Colleague, type NewAssistant } from "@colloquy/core/adapters"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../Api.ts"
import { readIdempotency } from "./Idempotency.ts"
import { modelOptionsFromWire } from "./TurnOptions.ts"
import { assistantBodies, type AssistantCreate, type AssistantUpdate } from "../endpoints/AssistantsApi.ts"
import { compact, given, givenName, readPage, writeTimestamp } from "../wire/Fields.ts"
import type { AssistantCreated } from "../wire/Records.ts"
import { toolFromWire } from "../wire/Tools.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { bodyReader } from "../wings/BodyReader.ts"
import { Wings } from "../wings/Wings.ts"
import { assistantToWire, threadToWire, versionToWire } from "../encoding/Encode.ts"
import { writeList, writeThreads } from "../encoding/EncodeList.ts"
import { ThreadLists } from "./ThreadLists.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "assistants",
  Effect.fnUntraced(function* (handlers) {
    const assistants = yield* Assistants
    const threads = yield* Threads
    const wings = yield* Wings
    const lists = yield* ThreadLists
    const read = yield* bodyReader
    return handlers
      .handleRaw(
        "create",
        Effect.fnUntraced(function* (raw) {
          const { value } = yield* read(assistantBodies.create, raw)
          const created = yield* assistants.create(toNewAssistant(value)).pipe(Effect.mapError(toWireError))
          const notes = notesOn(value)
          return tagged(created, notes.length === 0 ? {} : { notes })
        })
      )
      .handle("list", ({ query: { name, ...page } }) =>
        assistants.list(readPage(page), name).pipe(
          Effect.flatMap((found) => writeList(found.map(assistantToWire))),
          Effect.mapError(toWireError)
        )
      )
      .handle("get", ({ params }) =>
        assistants.get(AssistantId.make(params.assistant_id)).pipe(
          Effect.map((assistant) => tagged(assistant)),
          Effect.mapError(toWireError)
        )
      )
      .handleRaw(
        "update",
        Effect.fnUntraced(function* (raw) {
          const { value } = yield* read(assistantBodies.update, raw)
          const wanted = versionsIn(raw.headers["if-match"])
          const updated = assistants.update(AssistantId.make(raw.params.assistant_id), toUpdate(value), wanted)
          return tagged(yield* Effect.mapError(updated, toWireError))
        })
      )
      .handle("versions", ({ params, query: { cursor, limit = 20 } }) =>
        assistants.versions(AssistantId.make(params.assistant_id), { limit, ...compact({ before: cursor }) }).pipe(
          Effect.map(({ next, versions }) => ({
            versions: versions.map(versionToWire),
            next_cursor: next === null ? null : `${next}`
          })),
          Effect.mapError(toWireError)
        )
      )
      .handle("version", ({ params }) =>
        assistants.version(AssistantId.make(params.assistant_id), readVersion(params.version)).pipe(
          Effect.map((found) => ({ ...versionToWire(found), assistant: assistantToWire(found.assistant) })),
          Effect.mapError(toWireError)
        )
      )
      .handle(
        "restore",
        Effect.fnUntraced(function* (sent) {
          const { headers, params } = sent
          const [id, wanted] = [AssistantId.make(params.assistant_id), versionsIn(headers["if-match"])]
          const { idempotency } = yield* readIdempotency(sent, () => ({ wanted: wanted ?? null }))
          const restored = assistants.restore(id, readVersion(params.version), wanted, idempotency)
          return tagged(yield* Effect.mapError(restored, toWireError))
        })
      )
      .handle(
        "remove",
        Effect.fnUntraced(function* ({ params }) {
          yield* assistants.remove(AssistantId.make(params.assistant_id)).pipe(Effect.mapError(toWireError))
          const deleted_at = writeTimestamp(new Date(yield* Clock.currentTimeMillis))
          return { message: "The assistant was deleted.", assistant_id: params.assistant_id, deleted_at }
        })
      )
      .handleRaw(
        "clone",
        Effect.fnUntraced(function* (raw) {
          const { value } = yield* read(assistantBodies.clone, raw)
          const request = compact({ name: given(value?.name), systemPrompt: given(value?.system_prompt) })
          const without = [
            ...(value?.copy_documents === false ? ["documents"] : []),
            ...(value?.copy_memories === false ? ["memories"] : [])
          ]
          const { assistant, copied } = yield* assistants
            .clone(AssistantId.make(raw.params.assistant_id), { ...request, without })
            .pipe(Effect.mapError(toWireError))
          return {
            assistant: assistantToWire(assistant),
            documents_cloned: copied["documents"] ?? 0,
            memories_cloned: copied["memories"] ?? 0
          }
        })
      )
      .handleRaw(
        "createThread",
        Effect.fnUntraced(function* (raw) {
          const { value } = yield* read(assistantBodies.createThread, raw)
          const thread = yield* assistants
            .createThread(AssistantId.make(raw.params.assistant_id), value?.metadata ?? null, value?.assistant_version)
            .pipe(Effect.mapError(toWireError))
          return threadToWire({ thread, messages: [] }, wings)
        })
      )
      .handle(
        "listThreads",
        Effect.fnUntraced(function* ({ params, query }) {
          const assistantId = AssistantId.make(params.assistant_id)
          yield* assistants.get(assistantId)
          const list = threads.showAll({ page: readPage(query), assistantId, includeMessages: true })
          return yield* lists.inTurn(Effect.flatMap(list, (found) => writeThreads(found, wings)))
        }, Effect.mapError(toWireError))
      )
  })
)

/** The record with its `ETag`, which is its version. */
const tagged = (assistant: Assistant, more: Pick<AssistantCreated, "notes"> = {}) =>
  HttpServerResponse.jsonUnsafe(
    { ...assistantToWire(assistant), ...more },
    { headers: { etag: `"${assistant.version}"` } }
  )

/** A text that is not the number of a version becomes 0, which no version has. */
const readVersion = (text: string): number => (/^[1-9]\d{0,9}$/u.test(text) ? Math.min(Number(text), 2 ** 31 - 1) : 0)

/** The versions that `If-Match` names; undefined: any. A weak tag matches none. */
export const versionsIn = (header: string | undefined): ReadonlyArray<number> | undefined =>
  header === undefined || header.trim() === "*"
    ? undefined
    : header.split(",").flatMap((tag) => {
        const [, version] = /^"([1-9]\d{0,9})"$/u.exec(tag.trim()) ?? []
        return version === undefined ? [] : [Number(version)]
      })

const colleagueFromWire = (colleague: NonNullable<AssistantUpdate["helpers"]>[number]): Colleague => ({
  assistantId: AssistantId.make(colleague.assistant_id),
  name: colleague.name,
  description: colleague.description
})

const readConfig = (body: AssistantUpdate) =>
  compact({
    description: given(body.description),
    systemPrompt: given(body.system_prompt),
    provider: givenName(body.llm_provider),
    model: givenName(body.model_name),
    tools: body.tools?.map(toolFromWire),
    modelOptions: body.model_options === null ? null : modelOptionsFromWire(body.model_options),
    searchLimit: given(body.tok_k),
    factExtractionPrompt: given(body.custom_fact_extraction_prompt),
    memoryUpdatePrompt: given(body.custom_update_memory_prompt),
    metadata: given(body.metadata),
    helpers: body.helpers?.map(colleagueFromWire),
    handoffs: body.handoffs?.map(colleagueFromWire),
    embedding: compact({
      provider: givenName(body.embedding_provider),
      model: givenName(body.embedding_model_name),
      dimensions: given(body.embedding_dims)
    })
  })

const toNewAssistant = (body: AssistantCreate): NewAssistant => ({ name: body.name, ...readConfig(body) })

/** `description` and `system_prompt` are one text where only one of them was given, which a client may not expect. */
const notesOn = ({ description, system_prompt }: AssistantCreate): ReadonlyArray<string> => {
  const isGiven = (text: string | null | undefined) => typeof text === "string"
  if (isGiven(description) === isGiven(system_prompt)) return []
  const [absent, present] = isGiven(description) ? ["system_prompt", "description"] : ["description", "system_prompt"]
  return [`${absent} was not given, so it is the text of ${present}. Send both, if they are to differ.`]
}

/**
 * An empty name removes the provider or the model, so that the host's default applies; null leaves it as it is, like every other field but
 * `model_options`, which null removes.
 */
const toUpdate = (body: AssistantUpdate): Update => ({
  ...compact({ name: given(body.name) }),
  ...readConfig(body),
  ...(isEmptied(body.llm_provider) ? { provider: null } : {}),
  ...(isEmptied(body.model_name) ? { model: null } : {})
})

const isEmptied = (name: string | null | undefined): boolean => name?.trim() === ""

/** What an assistant remembers: look at it, write, change, delete, search, carry it over, and ask how the learning of a turn went. */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { jsonOrFormBody, linesBody, searchBody } from "../bodies/RequestBody.ts"
import { NotFound, NotImplemented, ServiceUnavailable } from "../wire/Errors.ts"
import { IntegerWord, Uuid } from "../wire/Fields.ts"
import * as Wire from "../wire/Memories.ts"
import { unreadable } from "./Unreadable.ts"
import { described } from "./Described.ts"

export const memoryBodies = {
  add: jsonOrFormBody(Wire.MemoryRequest),
  update: jsonOrFormBody(Wire.MemoryRequest),
  search: searchBody(Wire.MemorySearchRequest),
  import: linesBody
}

const pages = {
  page: Schema.optionalKey(IntegerWord.check(Schema.isGreaterThanOrEqualTo(1))),
  page_size: Schema.optionalKey(IntegerWord.check(Schema.isBetween({ minimum: 1, maximum: 100 })))
}

const errors = [NotFound, NotImplemented, ServiceUnavailable] as const
const ofAssistant = { assistant_id: Uuid }
const ofMemory = { assistant_id: Uuid, memory_id: Schema.String }

const Lines = Wire.MemoryLines.pipe(HttpApiSchema.asText({ contentType: "application/x-ndjson" }))

export const MemoriesApi = HttpApiGroup.make("memories")
  .add(
    HttpApiEndpoint.get("list", "/assistants/:assistant_id/memories", {
      params: ofAssistant,
      query: pages,
      success: Wire.MemoryList,
      error: errors
    }).annotateMerge(described("read", "List memories, oldest first; all of them without a page")),
    HttpApiEndpoint.post("add", "/assistants/:assistant_id/memories", {
      params: ofAssistant,
      payload: Wire.MemoryRequest,
      success: Wire.MemoryCreated,
      error: [...unreadable, ...errors]
    }).annotateMerge(
      described("write", "Write a memory as it is; a copy answers with the one that is there", memoryBodies.add)
    ),
    HttpApiEndpoint.delete("forgetAll", "/assistants/:assistant_id/memories", {
      params: ofAssistant,
      success: Wire.MemoryDone,
      error: errors
    }).annotateMerge(described("write", "Delete all memories with all that they ever said")),
    HttpApiEndpoint.get("export", "/assistants/:assistant_id/memories/export", {
      params: ofAssistant,
      success: Lines,
      error: errors
    }).annotateMerge(described("read", "All memories as JSON lines")),
    HttpApiEndpoint.post("import", "/assistants/:assistant_id/memories/import", {
      params: ofAssistant,
      payload: Lines,
      success: Wire.MemoryImported,
      error: [...unreadable, ...errors]
    }).annotateMerge(
      described("write", "Add memories from JSON lines; nothing when a line is wrong", memoryBodies.import)
    ),
    HttpApiEndpoint.get("stats", "/assistants/:assistant_id/memories/stats", {
      params: ofAssistant,
      success: Wire.MemoryStats,
      error: errors
    }).annotateMerge(described("read", "How many memories there are")),
    HttpApiEndpoint.post("search", "/assistants/:assistant_id/memories/search", {
      params: ofAssistant,
      payload: Wire.MemorySearchRequest,
      success: Wire.MemorySearchResponse,
      error: [...unreadable, ...errors]
    }).annotateMerge(described("read", "Search memories by words and meaning, best first", memoryBodies.search)),
    HttpApiEndpoint.get("get", "/assistants/:assistant_id/memories/:memory_id", {
      params: ofMemory,
      success: Wire.Memory,
      error: errors
    }).annotateMerge(described("read", "Look at a memory")),
    HttpApiEndpoint.put("update", "/assistants/:assistant_id/memories/:memory_id", {
      params: ofMemory,
      payload: Wire.MemoryRequest,
      success: Wire.Memory,
      error: [...unreadable, ...errors]
    }).annotateMerge(described("write", "Change a memory; without metadata it keeps its own", memoryBodies.update)),
    HttpApiEndpoint.delete("remove", "/assistants/:assistant_id/memories/:memory_id", {
      params: ofMemory,
      success: Wire.MemoryDone,
      error: errors
    }).annotateMerge(described("write", "Delete a memory with all that it ever said")),
    HttpApiEndpoint.get("history", "/assistants/:assistant_id/memories/:memory_id/history", {
      params: ofMemory,
      success: Wire.MemoryHistory,
      error: errors
    }).annotateMerge(described("read", "What a memory said before, newest first")),
    HttpApiEndpoint.get("operation", "/assistants/memories/operations/:operation_id", {
      params: { operation_id: Uuid },
      success: Wire.MemoryOperation,
      error: errors
    }).annotateMerge(described("read", "How the learning of a turn went"))
  )
  .annotate(OpenApi.Title, "Memories")
  .annotate(OpenApi.Description, "What an assistant remembers across its threads.")

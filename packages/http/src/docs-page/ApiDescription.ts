/**
 * Completes the OpenAPI document that `effect/http-api` makes from the endpoints: query values as the types that they stand for,
 * bodies that may be left out, records that ignore unknown fields, what a stream holds, headers that every endpoint takes or gives.
 */
import * as Schema from "effect/Schema"
import { catalogShapes, cursorShapes, memoryShapes, queryShapes } from "../wire/Fields.ts"
import { isRecord } from "../wire/Json.ts"
import { exactRecords } from "../wire/MessageBody.ts"
import { event, StreamEvent } from "../wire/StreamEvents.ts"
import type { Wing } from "../wings/Wing.ts"

type JsonRecord = Record<string, unknown>

const recordOrEmpty = (value: unknown): JsonRecord => (isRecord(value) ? value : {})

const mapped = <A, B>(record: Readonly<Record<string, A>>, change: (each: A, key: string) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(record).map(([key, each]) => [key, change(each, key)]))

const mapRecord = (value: unknown, change: (each: unknown, key: string) => unknown): JsonRecord =>
  mapped(recordOrEmpty(value), change)

/** Rebuilds a value from the leaves up. */
const rewrite = (value: unknown, change: (record: JsonRecord) => JsonRecord): unknown => {
  if (Array.isArray(value)) return value.map((each: unknown) => rewrite(each, change))
  return isRecord(value) ? change(mapRecord(value, (each) => rewrite(each, change))) : value
}

const without = (record: JsonRecord, unwanted: (key: string, value: unknown) => boolean): JsonRecord =>
  Object.fromEntries(Object.entries(record).filter(([key, value]) => !unwanted(key, value)))

/** Leaves out bounds that every JSON integer has, and notes for one kind of client: they are of no use to a reader. */
const withoutTrivialBounds = (record: JsonRecord): JsonRecord =>
  without(
    record,
    (key, value) =>
      key === "x-effect-stream" ||
      (key === "minimum" && value === Number.MIN_SAFE_INTEGER) ||
      (key === "maximum" && value === Number.MAX_SAFE_INTEGER)
  )

/** Replaces a list with one condition by the condition. */
const withoutNesting = (record: JsonRecord): JsonRecord => {
  const { allOf, ...rest } = record
  return Array.isArray(allOf) && allOf.length === 1 ? { ...rest, ...recordOrEmpty(allOf[0]) } : record
}

/** Readers show the type of each field, so a field that takes any value names all types. */
const anyType = { type: ["object", "array", "string", "number", "boolean", "null"] }

const withTypes = (record: JsonRecord): JsonRecord => {
  const typed = (schema: unknown) => (isRecord(schema) && Object.keys(schema).length === 0 ? anyType : schema)
  return mapped(record, (value, key) => {
    if (key === "items") return typed(value)
    if (key === "properties") return mapRecord(value, typed)
    return key === "anyOf" && Array.isArray(value) ? value.map(typed) : value
  })
}

/** Allows unknown fields: in requests they are ignored, and later versions of answers may have more fields. */
const open = (record: JsonRecord): JsonRecord =>
  without(record, (key, value) => key === "additionalProperties" && value === false)

const publicName = (name: string): string => name.replace(/Encoded$/u, "")

const reference = "#/components/schemas/"

const withPublicName = (record: JsonRecord): JsonRecord => {
  const target = record["$ref"]
  return typeof target === "string" && target.startsWith(reference) ? { ...record, $ref: publicName(target) } : record
}

const eventStream = {
  schema: {
    type: "string",
    description:
      "Server-sent events. Each has an id, `<run_id>:<sequence>`, and one line of data, which is a StreamEvent. " +
      "The last one is run_ended, tool_submit_required, run_failed, run_cancelled or message_saved.",
    contentMediaType: "application/json",
    contentSchema: { $ref: `${reference}StreamEvent` }
  }
}

const runUpdates = {
  schema: {
    type: "string",
    description:
      "Server-sent events without an end. Each has an id, which rises, and one line of data: a run as it is now. " +
      "A client that comes back names the last id in Last-Event-ID.",
    contentMediaType: "application/json",
    contentSchema: { $ref: `${reference}RunUpdated` }
  }
}

const retryAfter = {
  "Retry-After": { description: "Seconds to wait", schema: { type: "integer", minimum: 1 } }
}

const describeResponse = (response: unknown, status: string, path: string): JsonRecord => {
  const stream = path === "/runs/events" ? runUpdates : eventStream
  const { content, ...rest } = recordOrEmpty(response)
  return {
    ...rest,
    ...(status === "429" ? { headers: retryAfter } : {}),
    ...(content === undefined
      ? {}
      : { content: mapRecord(content, (media, type) => (type === "text/event-stream" ? stream : media)) })
  }
}

const describeParameter = (parameter: unknown, shapes: typeof queryShapes): unknown => {
  const record = recordOrEmpty(parameter)
  const shape = record["in"] === "query" ? shapes[String(record["name"])] : undefined
  return shape === undefined ? record : { ...record, schema: shape }
}

const shapesAt = (path: string, parameters: ReadonlyArray<unknown>): typeof queryShapes => {
  if (path.startsWith("/models")) return catalogShapes
  if (parameters.some((each) => recordOrEmpty(each)["name"] === "cursor")) return cursorShapes
  return path.endsWith("/memories") ? memoryShapes : queryShapes
}

const hostHeaders = ["authorization", "x_session_token"].map((name) => ({
  name,
  in: "header",
  required: false,
  description: "For the host of the service, who may know the caller by it",
  schema: { type: "string" }
}))

const isHostHeader = (parameter: unknown): boolean =>
  hostHeaders.some(({ name }) => recordOrEmpty(parameter)["name"] === name)

/** The description without the headers that only a host reads. */
export const withoutHostHeaders = (document: JsonRecord): JsonRecord => ({
  ...document,
  paths: mapRecord(document["paths"], (path) =>
    mapRecord(path, (operation) => {
      const { parameters, ...rest } = recordOrEmpty(operation)
      return { ...rest, parameters: Array.isArray(parameters) ? parameters.filter((each) => !isHostHeader(each)) : [] }
    })
  )
})

const allowsNull = (schema: unknown): boolean => {
  const choices = recordOrEmpty(schema)["anyOf"]
  return Array.isArray(choices) && choices.some((choice) => recordOrEmpty(choice)["type"] === "null")
}

const describeBody = (body: unknown): JsonRecord => {
  const record = recordOrEmpty(body)
  const json = recordOrEmpty(recordOrEmpty(record["content"])["application/json"])
  return { ...record, required: !allowsNull(json["schema"]) }
}

const describeOperation = (operation: unknown, path: string): JsonRecord => {
  const { parameters, requestBody, responses, ...rest } = recordOrEmpty(operation)
  const own: ReadonlyArray<unknown> = Array.isArray(parameters) ? parameters : []
  return {
    ...rest,
    parameters: [...own.map((each) => describeParameter(each, shapesAt(path, own))), ...hostHeaders],
    ...(requestBody === undefined ? {} : { requestBody: describeBody(requestBody) }),
    responses: mapRecord(responses, (each, status) => describeResponse(each, status, path))
  }
}

/** For `OpenApi.Transform`. */
export const describe = (document: JsonRecord): JsonRecord => {
  const clean = recordOrEmpty(
    rewrite(document, (record) => withTypes(withPublicName(withoutNesting(withoutTrivialBounds(record)))))
  )
  const components = recordOrEmpty(clean["components"])
  const schemas = Object.entries(recordOrEmpty(components["schemas"])).map(([name, schema]) => {
    const known = publicName(name)
    return [known, exactRecords.has(known) ? schema : rewrite(schema, open)] as const
  })
  return {
    ...clean,
    info: {
      ...recordOrEmpty(clean["info"]),
      description: "Assistants, threads, messages and runs: an embeddable kernel for conversational AI.",
      license: { name: "MIT", identifier: "MIT" }
    },
    servers: clean["servers"] ?? [{ url: "/", description: "Where the handler is mounted" }],
    paths: mapRecord(clean["paths"], (path, name) => mapRecord(path, (each) => describeOperation(each, name))),
    components: { ...components, schemas: Object.fromEntries(schemas) }
  }
}

const identifier = "colloquy.wings"

/** The fields and events of a host's wings as one schema of the document, from which `withWings` moves them to their places. */
export const schemaOfWings = (wings: ReadonlyArray<Wing>) => {
  const joined = <A>(of: (wing: Wing) => Readonly<Record<string, A>> | undefined): Readonly<Record<string, A>> =>
    Object.assign({}, ...wings.map(of))
  const ofReplies = joined(({ schemas }) => schemas?.fields)
  return Schema.Struct({
    bodies: Schema.Struct(joined(({ message }) => message?.own)),
    replies: Schema.Struct(ofReplies),
    events: Schema.Union([
      ...StreamEvent.members.map((member) =>
        member.fields.type.literal === "run_ended"
          ? Schema.Struct({ ...mapped(ofReplies, Schema.optionalKey), ...member.fields })
          : member
      ),
      ...Object.entries(joined(({ schemas }) => schemas?.events)).map(([type, fields]) =>
        event(type, mapped(fields, Schema.optionalKey))
      )
    ])
  }).annotate({ identifier })
}

/** The bodies that are messages, and what answers them, by the names of their schemas. */
const bodyNames = /^(?:(?:Stateless)?Message(?:Request|Form|Upload)|EditRequest|RegenerateRequest)$/u
const replyNames = /^(?:MessageResponse|ToolOutputsResponse|StoredMessage)$/u

/** The document with the fields and events of a host's wings where those of our own wings stand. */
export const withWings = (document: JsonRecord): JsonRecord => {
  const components = recordOrEmpty(document["components"])
  const { [identifier]: added, ...ours } = recordOrEmpty(components["schemas"])
  const { bodies, events, replies } = readProperties(added)
  const schemas = mapped(ours, (schema, name) => {
    if (name === "StreamEvent") return events
    const more = bodyNames.test(name) ? bodies : replyNames.test(name) ? replies : null
    return more === null
      ? schema
      : { ...recordOrEmpty(schema), properties: { ...readProperties(more), ...readProperties(schema) } }
  })
  return { ...document, components: { ...components, schemas } }
}

const readProperties = (schema: unknown): JsonRecord => recordOrEmpty(recordOrEmpty(schema)["properties"])

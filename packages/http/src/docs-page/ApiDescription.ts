/**
 * Completes the OpenAPI document that `effect/http-api` makes from the endpoints: query values as the types that they stand for,
 * bodies that may be left out, records that ignore unknown fields, what a stream holds, headers that every endpoint takes or gives.
 */
import * as Schema from "effect/Schema"
import { catalogShapes, cursorShapes, memoryShapes, queryShapes } from "../wire/Fields.ts"
import { exactRecords } from "../wire/MessageBody.ts"

type JsonRecord = Record<string, unknown>

const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const recordOrEmpty = (value: unknown): JsonRecord => (isRecord(value) ? value : {})

const mapRecord = (value: unknown, change: (each: unknown, key: string) => unknown): JsonRecord =>
  Object.fromEntries(Object.entries(recordOrEmpty(value)).map(([key, each]) => [key, change(each, key)]))

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

/** A list of one condition means that condition. */
const withoutNesting = (record: JsonRecord): JsonRecord => {
  const { allOf, ...rest } = record
  return Array.isArray(allOf) && allOf.length === 1 ? { ...rest, ...recordOrEmpty(allOf[0]) } : record
}

/** Readers show the type of each field, so a field that takes any value names all types. */
const anyType = { type: ["object", "array", "string", "number", "boolean", "null"] }

const withTypes = (record: JsonRecord): JsonRecord => {
  const typed = (schema: unknown) => (isRecord(schema) && Object.keys(schema).length === 0 ? anyType : schema)
  const { anyOf, items, properties } = record
  return {
    ...record,
    ...(Array.isArray(anyOf) ? { anyOf: anyOf.map(typed) } : {}),
    ...(items === undefined ? {} : { items: typed(items) }),
    ...(properties === undefined ? {} : { properties: mapRecord(properties, typed) })
  }
}

/** Unknown fields are ignored, and answers may grow. */
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

const shapesAt = (path: string): typeof queryShapes => {
  if (path.startsWith("/models")) return catalogShapes
  if (path.endsWith("/runs")) return cursorShapes
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
    parameters: [...own.map((each) => describeParameter(each, shapesAt(path))), ...hostHeaders],
    ...(requestBody === undefined ? {} : { requestBody: describeBody(requestBody) }),
    responses: mapRecord(responses, (each, status) => describeResponse(each, status, path))
  }
}

/** For `OpenApi.annotations({ transform })`. */
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

/** The bodies of messages, in each encoding. */
const messageBodies = /^(?:Stateless)?Message(?:Request|Upload|Form)$/u

/** Adds the fields that a host's wings bring to the bodies of messages. */
export const withMessageFields = (
  document: JsonRecord,
  fields: Readonly<Record<string, Schema.Constraint>>
): JsonRecord => {
  const own = mapRecord(fields, (schema) => (Schema.isSchema(schema) ? Schema.toJsonSchemaDocument(schema).schema : {}))
  const components = recordOrEmpty(document["components"])
  const schemas = mapRecord(components["schemas"], (schema, name) =>
    messageBodies.test(name)
      ? { ...recordOrEmpty(schema), properties: { ...recordOrEmpty(recordOrEmpty(schema)["properties"]), ...own } }
      : schema
  )
  return { ...document, components: { ...components, schemas } }
}

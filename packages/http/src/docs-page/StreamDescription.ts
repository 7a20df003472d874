/**
 * The streams of the API as an AsyncAPI 3.0 document, for `/asyncapi.json`. It is taken from the OpenAPI document, so both say the same of a
 * stream: which requests answer with one, and what its events are.
 */
import type * as OpenApi from "effect/http-api/OpenApi"

type Spec = OpenApi.OpenAPISpec

const eventStream = "text/event-stream"
const schemasPath = "#/components/schemas/"

/** The names of the schemas that this one names, directly and through others. */
const namedBy = (schemas: Spec["components"]["schemas"], root: unknown): ReadonlySet<string> => {
  const names = new Set<string>()
  const look = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return
    for (const [key, each] of Object.entries(value)) {
      if (key !== "$ref" || typeof each !== "string") look(each)
      else if (each.startsWith(schemasPath)) {
        const name = each.slice(schemasPath.length)
        if (!names.has(name)) look(schemas[(names.add(name), name)])
      }
    }
  }
  look(root)
  return names
}

const methods = ["get", "post", "put", "delete"] as const

const streamsIn = (paths: Spec["paths"]) =>
  Object.entries(paths).flatMap(([address, operations]) =>
    methods.flatMap((method) => {
      const operation = operations[method]
      const schema: object | undefined = operation?.responses["200"]?.content?.[eventStream]?.schema
      if (operation === undefined || schema === undefined) return []
      return [
        {
          id: operation.operationId.replaceAll(".", "_"),
          address,
          method: method.toUpperCase(),
          description: operation.description,
          payload: "contentSchema" in schema ? schema.contentSchema : schema,
          about: "description" in schema ? schema.description : undefined,
          names: operation.parameters.filter((each) => each.in === "path").map(({ name }) => name)
        }
      ]
    })
  )

export const streamDescription = ({ components, info, paths, servers = [] }: Spec) => {
  const streams = streamsIn(paths)
  const used = namedBy(
    components.schemas,
    streams.map(({ payload }) => payload)
  )
  return {
    asyncapi: "3.0.0",
    info: {
      title: info.title,
      version: info.version,
      license: { name: "MIT" },
      description:
        "The streams of the HTTP API: server-sent events in answer to a request. The requests themselves are in openapi.json."
    },
    defaultContentType: "application/json",
    channels: Object.fromEntries(
      streams.map(({ about, address, id, names, payload }) => [
        id,
        {
          address: `${(servers[0]?.url ?? "").replace(/\/$/u, "")}${address}`,
          parameters: Object.fromEntries(names.map((name) => [name, {}])),
          messages: { event: { description: about, payload } }
        }
      ])
    ),
    operations: Object.fromEntries(
      streams.map(({ description, id, method }) => [
        id,
        {
          action: "send",
          channel: { $ref: `#/channels/${id}` },
          summary: `The answer to ${method}, with \`Accept: ${eventStream}\` or "stream": true`,
          ...(description === undefined ? {} : { description }),
          security: [{ $ref: "#/components/securitySchemes/apiKey" }],
          bindings: { http: { method } }
        }
      ])
    ),
    components: {
      securitySchemes: {
        apiKey: { type: "httpApiKey", in: "header", name: "X-API-Key", description: "Or the session of the host" }
      },
      schemas: Object.fromEntries(Object.entries(components.schemas).filter(([name]) => used.has(name)))
    }
  }
}

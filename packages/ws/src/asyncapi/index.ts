/**
 * The sockets as an AsyncAPI 3.0 document: `/threads/realtime` and OpenAI's protocol at `/v1/realtime`. What clients send is taken from the
 * schemas by which frames are read. `asyncapi.json` of this package is the document; a server adds it to that of its streams.
 */
import * as Schema from "effect/Schema"
import { WireFirstFrame } from "../FirstFrame.ts"
import { ClientEvent } from "../openai/ClientEvents.ts"
import { eventTypes } from "../openai/EventTypes.ts"
import { WireFrame } from "../Wire.ts"
import { serviceEvents } from "./ServiceEvents.ts"

interface Message {
  readonly name: string
  readonly payload: object
  readonly description?: string
}

type Named = Readonly<Record<string, object>>

/** The parts of an AsyncAPI 3.0 document. */
export interface SocketDescription {
  readonly asyncapi: string
  readonly info: Readonly<Record<string, unknown>>
  readonly defaultContentType: string
  readonly channels: Named
  readonly operations: Named
  readonly components: { readonly securitySchemes: Named; readonly schemas: Named }
}

const schemasPath = "#/components/schemas/"

/** Schemas that others name stand among the components of the document. */
const renamed = (document: SocketDescription): SocketDescription =>
  JSON.parse(JSON.stringify(document).replaceAll('"#/$defs/', `"${schemasPath}`))

const message = (name: string, schema: Schema.Constraint, description?: string) => {
  const { definitions, schema: payload } = Schema.toJsonSchemaDocument(schema)
  const shown: Message = { name, payload, ...(description === undefined ? {} : { description }) }
  return { shown, definitions }
}

/** `session.begin` is `session_begin` in names of the document. */
const keyed = (all: ReadonlyArray<Message>) =>
  Object.fromEntries(all.map((each) => [each.name.replaceAll(/[^a-z]/gu, "_"), each]))

const received = [
  message("first_frame", WireFirstFrame, "The first frame of a connection."),
  message("frame", WireFrame, "Every further text frame.")
]
const sent = serviceEvents.map((schema) => message(schema.fields.type.literal, schema))
const openAi = message("client_event", ClientEvent, "An event of a client, as in OpenAI's reference.")

const audio: Message = {
  name: "audio",
  payload: { type: "string", format: "binary" },
  description: "A binary frame: sound in the `input_format` of `session.begin`."
}

const openAiEvents: Message = {
  name: "server_event",
  payload: {
    type: "object",
    properties: { type: { enum: eventTypes }, event_id: { type: "string" } },
    required: ["type"]
  },
  description: "An event of the server. Its other fields are those of OpenAI's reference."
}

const security = [{ $ref: "#/components/securitySchemes/apiKey" }, { $ref: "#/components/securitySchemes/ticket" }]

const operationsOn = (channel: string, from: ReadonlyArray<Message>, to: ReadonlyArray<Message>) => {
  const messages = (all: ReadonlyArray<Message>) =>
    Object.keys(keyed(all)).map((name) => ({ $ref: `#/channels/${channel}/messages/${name}` }))
  const at = { channel: { $ref: `#/channels/${channel}` }, security }
  return {
    [`${channel}_receive`]: { action: "receive", ...at, summary: "What a client sends", messages: messages(from) },
    [`${channel}_send`]: { action: "send", ...at, summary: "What the service sends", messages: messages(to) }
  }
}

/** `basePath` is where the API is mounted. */
export const socketDescription = (basePath = ""): SocketDescription => {
  const [fromClient, toClient] = [[...received.map(({ shown }) => shown), audio], sent.map(({ shown }) => shown)]
  const definitions = Object.assign({}, ...[...received, ...sent, openAi].map((each) => each.definitions))
  return renamed({
    asyncapi: "3.0.0",
    info: {
      title: "Colloquy: voice sessions",
      version: "1.0.0",
      license: { name: "MIT" },
      description: "The WebSockets of voice sessions. Frames are JSON texts; a client sends sound as binary frames."
    },
    defaultContentType: "application/json",
    channels: {
      realtime: {
        address: `${basePath}/threads/realtime`,
        messages: keyed([...fromClient, ...toClient]),
        bindings: { ws: { method: "GET" } }
      },
      openai_realtime: {
        address: `${basePath}/v1/realtime`,
        messages: keyed([openAi.shown, openAiEvents]),
        bindings: { ws: { method: "GET" } }
      }
    },
    operations: {
      ...operationsOn("realtime", fromClient, toClient),
      ...operationsOn("openai_realtime", [openAi.shown], [openAiEvents])
    },
    components: {
      securitySchemes: {
        apiKey: { type: "httpApiKey", in: "header", name: "X-API-Key", description: "Or the session of the host" },
        ticket: {
          type: "httpApiKey",
          in: "query",
          name: "ticket",
          description: "A ticket of `POST /threads/realtime/tickets`"
        }
      },
      schemas: definitions
    }
  })
}

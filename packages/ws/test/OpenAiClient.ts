/** OpenAI's own realtime client against a server of a test. It speaks TLS only, so its connection is replaced by a plain one. */
import { once } from "node:events"
import { connect } from "node:net"
import OpenAI from "openai"
import type { RealtimeClientEvent, RealtimeServerEvent } from "openai/resources/realtime/realtime"
import { OpenAIRealtimeWS } from "openai/realtime/ws"

type Heard<Type extends RealtimeServerEvent["type"]> = Extract<RealtimeServerEvent, { readonly type: Type }>

export interface OpenAiClientOptions {
  /** Of the server, with the base path: `http://127.0.0.1:8787/v1`. Its query goes along. */
  readonly baseURL: string
  readonly key: string
  readonly model?: string
}

export const openAiClient = async ({ baseURL, key, model = "scripted/scripted-voice" }: OpenAiClientOptions) => {
  const { hostname, port } = new URL(baseURL)
  const client = new OpenAIRealtimeWS(
    { model, options: { createConnection: () => connect(Number(port), hostname) } },
    new OpenAI({ baseURL, apiKey: key })
  )
  const events: Array<RealtimeServerEvent> = []
  const looks = new Set<() => void>()
  const look = () => {
    for (const each of looks) each()
  }
  let closed: number | null = null
  client.on("event", (event) => {
    events.push(event)
    look()
  })
  client.on("error", () => {})
  client.socket.on("close", (code) => {
    closed = code
    look()
  })
  const until = <A>(find: () => A | null | undefined): Promise<A> =>
    new Promise((resolve) => {
      const each = () => {
        const found = find()
        if (found === undefined || found === null) return
        looks.delete(each)
        resolve(found)
      }
      looks.add(each)
      each()
    })
  const isA =
    <Type extends RealtimeServerEvent["type"]>(type: Type) =>
    (event: RealtimeServerEvent): event is Heard<Type> =>
      event.type === type
  await once(client.socket, "open")
  let read = 0
  return {
    client,
    events,
    until,
    send: (event: RealtimeClientEvent) => client.send(event),
    all: <Type extends RealtimeServerEvent["type"]>(type: Type) => events.filter(isA(type)),
    /** The first event of this type behind those that were returned before. */
    next: <Type extends RealtimeServerEvent["type"]>(type: Type): Promise<Heard<Type>> =>
      until(() => {
        const place = events.findIndex((event, index) => index >= read && event.type === type)
        const found = events[place]
        if (found === undefined || !isA(type)(found)) return null
        read = place + 1
        return found
      }),
    /** What was played so far. */
    audio: () =>
      Buffer.concat(events.filter(isA("response.output_audio.delta")).map(({ delta }) => Buffer.from(delta, "base64"))),
    typed: (text: string) => {
      client.send({
        type: "conversation.item.create",
        item: { type: "message", role: "user", content: [{ type: "input_text", text }] }
      })
      client.send({ type: "response.create" })
    },
    closed: () => until(() => closed)
  }
}

/** Every call that a chat is shown has an end, however the answer ends: in the streams of the AI SDK and of AG-UI, as their clients read them. */
import { Chat } from "@ai-sdk/react"
import { HttpAgent } from "@ag-ui/client"
import type { BaseEvent } from "@ag-ui/core"
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, type Provider, Providers, type TurnPart, TurnParts } from "@colloquy/core"
import { type ChatEvent, ModelError, type Review } from "@colloquy/core/adapters"
import { callTools, ScriptedModel } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import { lastAssistantMessageIsCompleteWithToolCalls, type UIMessage, type UIMessageChunk } from "ai"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { agUi } from "../src/ag-ui/index.ts"
import { ColloquyTransport, type TurnMetadata, uiMessages } from "../src/ai-sdk/index.ts"
import { keys, open, serve, type Service, tool } from "./Service.ts"
import { until } from "../../../test/until.ts"

type Message = UIMessage<TurnMetadata>

const http = { wings: [agUi] }

const start = { _tag: "ToolCallStart", id: "c1", name: "weather" } as const
const half = Stream.fromIterable<ChatEvent>([
  { _tag: "TextDelta", text: "Let me look." },
  start,
  { _tag: "ToolCallDelta", id: "c1", arguments: '{"city": "Os' }
])
const ready = (id: string): ChatEvent => ({ _tag: "ToolCallReady", call: { id, name: "weather", arguments: "{}" } })
const finished = (reason: "length" | "tool_calls"): ChatEvent => ({
  _tag: "Finished",
  reason,
  model: null,
  providerData: null
})

/** A service whose model begins a call, and ends as told in the middle of its arguments. */
const openBroken = (chat: NonNullable<Provider["chat"]>): Promise<Service> =>
  serve(
    Kernel.layer.pipe(
      Layer.provideMerge(
        Providers.layer({ providers: [{ id: "broken", chat }], defaults: { provider: "broken", model: "b" } })
      ),
      Layer.provideMerge(InMemory.layer),
      Layer.merge(ScriptedModel.layer([])),
      Layer.fresh
    ),
    http
  )

const guardCalls = (judge: Review["judge"]): TurnPart<null> => ({
  name: "guard",
  plan: Schema.Null,
  decide: () => Effect.succeed({ plan: null }),
  review: () => ({ by: "sentence", judge })
})

/** A service whose guard ends the answer at the second call. */
const openGuarded = async (verdict: "Stop" | "Replace"): Promise<Service> => {
  const service = await open([callTools(["weather", { city: "Oslo" }, "c1"], ["weather", { city: "bad" }, "c2"])], {
    http
  })
  const judge: Review["judge"] = ({ text, tool: name }) => {
    if (name === null || !text.includes("bad")) return Effect.succeed({ _tag: "Pass" })
    return Effect.succeed(verdict === "Stop" ? { _tag: "Stop", reason: "No." } : { _tag: "Replace", text: "No." })
  }
  await service.run(
    Effect.flatMap(Scope.make(), (scope) =>
      TurnParts.use((parts) => Scope.provide(parts.register(guardCalls(judge)), scope))
    )
  )
  return service
}

const cutShort = new ModelError({ reason: "cut_off", provider: "broken", model: "b", shouldRetry: false })

interface End {
  readonly title: string
  readonly service: () => Promise<Service>
  readonly status: "COMPLETED" | "FAILED" | "CANCELLED" | "REQUIRES_ACTION"
  /** The calls in a chat of the AI SDK. */
  readonly inChat: ReadonlyArray<string>
  /** The messages of an agent of AG-UI after the question. */
  readonly ofAgent: ReadonlyArray<string>
}

const looking = "assistant: Let me look."
const refused = "tool c1: Error: not run, because the answer was ended after this call."

const ends: ReadonlyArray<End> = [
  {
    title: "fails in the middle of arguments",
    service: () => openBroken(() => Stream.concat(half, Stream.fail(cutShort))),
    status: "FAILED",
    inChat: ["c1 output-error"],
    ofAgent: [looking]
  },
  {
    title: "is full in the middle of arguments",
    service: () => openBroken(() => Stream.concat(half, Stream.make(finished("length")))),
    status: "COMPLETED",
    inChat: ["c1 output-error"],
    ofAgent: [looking]
  },
  {
    title: "waits for another call",
    service: () => openBroken(() => Stream.concat(half, Stream.fromIterable([ready("c2"), finished("tool_calls")]))),
    status: "REQUIRES_ACTION",
    inChat: ["c1 output-error", "c2 input-available"],
    ofAgent: [`${looking} c2`]
  },
  {
    title: "is cancelled in the middle of arguments",
    service: () => openBroken(() => Stream.concat(half, Stream.never)),
    status: "CANCELLED",
    inChat: ["c1 output-error"],
    ofAgent: [looking]
  },
  {
    title: "is stopped by a guard",
    service: () => openGuarded("Stop"),
    status: "FAILED",
    inChat: ["c1 output-available"],
    ofAgent: ["assistant: c1", refused]
  },
  {
    title: "is replaced by a guard",
    service: () => openGuarded("Replace"),
    status: "COMPLETED",
    inChat: ["c1 output-available"],
    ofAgent: ["assistant: No. c1", refused]
  }
]

const newAssistant = async (service: Service): Promise<string> =>
  (await service.call("POST", "/assistants", { name: "a", tools: [tool("weather")] })).body.assistant_id

const newThread = async (service: Service): Promise<string> =>
  (await service.call("POST", `/assistants/${await newAssistant(service)}/threads`)).body.thread_id

const cancelLast = async (service: Service, threadId: string): Promise<void> => {
  const { messages } = (await service.call("GET", `/threads/${threadId}`)).body
  await service.call("POST", `/threads/${threadId}/runs/${messages.at(-1).run_id}/cancel`)
}

const calls = (message: Message | undefined) =>
  (message?.parts ?? []).flatMap((part) => (part.type === "dynamic-tool" ? [`${part.toolCallId} ${part.state}`] : []))

describe("a chat of the AI SDK", () => {
  const openChat = (service: Service, id: string, chunks: Array<UIMessageChunk> = []) => {
    const transport = new ColloquyTransport({
      baseUrl: "http://in.process",
      handler: service.handler,
      apiKey: keys.ada
    })
    const asked: Array<string> = []
    const noting = (stream: ReadableStream<UIMessageChunk>) =>
      stream.pipeThrough(
        new TransformStream<UIMessageChunk, UIMessageChunk>({
          transform: (chunk, controller) => {
            chunks.push(chunk)
            controller.enqueue(chunk)
          }
        })
      )
    const chat = new Chat<Message>({
      id,
      transport: {
        sendMessages: async (options) => noting(await transport.sendMessages(options)),
        reconnectToStream: (options) => transport.reconnectToStream(options)
      },
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall }) => void asked.push(toolCall.toolCallId)
    })
    return { asked, chat }
  }

  /** Calls that began and have no end: neither complete arguments nor an error. */
  const openCalls = (chunks: ReadonlyArray<UIMessageChunk>) => {
    const begun = new Set<string>()
    for (const chunk of chunks) {
      if (chunk.type === "tool-input-start") begun.add(chunk.toolCallId)
      if (chunk.type === "tool-input-available" || chunk.type === "tool-input-error") begun.delete(chunk.toolCallId)
    }
    return [...begun]
  }

  it.each(ends)(
    "that $title ends each call that it has begun, and sends nothing by itself",
    async ({ inChat, service: openService, status }) => {
      await using service = await openService()
      const id = await newThread(service)
      const chunks: Array<UIMessageChunk> = []
      const { asked, chat } = openChat(service, id, chunks)
      const sent = chat.sendMessage({ text: "Weather?" })
      if (status === "CANCELLED") {
        await until(() => calls(chat.lastMessage).length > 0)
        await cancelLast(service, id)
      }
      await sent
      assert.deepStrictEqual(openCalls(chunks), [])
      assert.deepStrictEqual(calls(chat.lastMessage), inChat)
      assert.deepStrictEqual(asked, status === "REQUIRES_ACTION" ? ["c2"] : [])
      const { body } = await service.call("GET", `/threads/${id}`)
      assert.deepStrictEqual(
        body.messages.map((message: { readonly status: string }) => message.status),
        ["COMPLETED", status]
      )
      // A call that was never made is in no record.
      const made = inChat.filter((call) => !call.endsWith("output-error"))
      assert.deepStrictEqual(calls(uiMessages(body).at(-1)), made)
    }
  )
})

describe("an agent of AG-UI", () => {
  const openAgent = async (service: Service) => {
    const agent = new HttpAgent({
      url: `http://in.process/ag-ui/${await newAssistant(service)}`,
      headers: { "x-api-key": keys.ada },
      fetch: (url, init) => service.handler(new Request(url, init))
    })
    const events: Array<BaseEvent> = []
    agent.subscribe({ onEvent: ({ event }) => void events.push(event) })
    return { agent, events }
  }

  const types = (events: ReadonlyArray<BaseEvent>) => events.map(({ type }) => type as string)

  const shown = ({ messages }: HttpAgent) =>
    messages.slice(1).map((message) => {
      if (message.role === "tool") return `tool ${message.toolCallId}: ${JSON.stringify(message.content).slice(1, -1)}`
      if (message.role !== "assistant") return message.role
      const ids = (message.toolCalls ?? []).map((call) => call.id)
      return ["assistant:", ...(message.content === undefined ? [] : [message.content]), ...ids].join(" ")
    })

  const openCalls = (events: ReadonlyArray<BaseEvent>) => {
    const begun = new Set<unknown>()
    for (const event of events) {
      const [type] = types([event])
      if (!("toolCallId" in event)) continue
      if (type === "TOOL_CALL_START") begun.add(event.toolCallId)
      if (type === "TOOL_CALL_END") begun.delete(event.toolCallId)
    }
    return [...begun]
  }

  it.each(ends)(
    "that $title ends each call that it has begun, and keeps only those that were made",
    async ({ ofAgent, service: openService, status }) => {
      await using service = await openService()
      const { agent, events } = await openAgent(service)
      agent.addMessage({ id: "u", role: "user", content: "Weather?" })
      const ran = agent.runAgent().catch(() => {})
      if (status === "CANCELLED") {
        await until(() => types(events).includes("TOOL_CALL_START"))
        await cancelLast(service, agent.state.colloquy.thread_id)
      }
      await ran
      assert.deepStrictEqual(openCalls(events), [])
      assert.strictEqual(types(events).at(-1), status === "FAILED" ? "RUN_ERROR" : "RUN_FINISHED")
      assert.deepStrictEqual(shown(agent), ofAgent)
    }
  )
})

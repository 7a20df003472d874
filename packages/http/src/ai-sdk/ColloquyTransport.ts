/**
 * A `ChatTransport` over the public API: `useChat({ id: threadId, transport: new ColloquyTransport({ baseUrl, … }) })`. The chat's id is the
 * thread's. A chat with any other id begins a thread at its first message, and keeps it for as long as the transport lives.
 *
 * The server holds the conversation: of the chat's messages only the new one is sent, or the outputs of its tools.
 */
import type { ChatTransport, UIMessage, UIMessageChunk } from "ai"
import type { ClientEvent } from "../client/ClientEvents.ts"
import { type Client, type ClientOptions, connect } from "../client/PromiseClient.ts"
import type { MessageRequest } from "../wire/MessageBody.ts"
import { filesOf } from "./MessageFiles.ts"
import { type TurnMetadata, uiChunks } from "./UiChunks.ts"

export interface TransportOptions extends ClientOptions {
  /** The assistant of the thread that a new chat begins. Absent: a new assistant. */
  readonly assistantId?: string
  /** Fields of every message: `tools`, `memory`, `model_name`, …; `body` of a single call goes over them. */
  readonly message?: Omit<MessageRequest, "content" | "stream">
  /** Called when a chat has begun a thread: keep its id, so that the chat can be opened again. */
  readonly onThread?: (threadId: string, chatId: string) => void
  /** What `stop` does: end the run (the default), or only leave it. */
  readonly onStop?: "cancel" | "leave"
}

type Message = UIMessage<TurnMetadata>
type SendOptions = Parameters<ChatTransport<Message>["sendMessages"]>[0]
type ReconnectOptions = Parameters<ChatTransport<Message>["reconnectToStream"]>[0]
type Events = AsyncGenerator<ClientEvent, void, undefined>

const isId = (text: string): boolean => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu.test(text)

export class ColloquyTransport implements ChatTransport<Message> {
  /** `reconnectToStream` gives all events of the run, from the first one on. */
  readonly resumeStreamIsReplay = true
  private readonly options: TransportOptions
  private readonly client: Promise<Client>
  /** Threads of chats whose own id is not a thread's. */
  private readonly threads = new Map<string, string>()

  constructor(options: TransportOptions) {
    this.options = options
    this.client = connect(options)
  }

  readonly sendMessages = async (options: SendOptions): Promise<ReadableStream<UIMessageChunk>> => {
    const client = await this.client
    const last = options.messages.at(-1)
    if (last === undefined) throw new Error("There is no message to send.")
    const events = last.role === "assistant" ? this.sendOutputs(client, last) : this.sendMessage(client, last, options)
    return this.chunksOf(client, events, options.abortSignal)
  }

  readonly reconnectToStream = async ({ chatId }: ReconnectOptions): Promise<ReadableStream<UIMessageChunk> | null> => {
    const threadId = this.threadOf(chatId)
    if (threadId === undefined) return null
    const client = await this.client
    const last = (await client.threads.get(threadId)).messages.at(-1)
    if (last?.status !== "IN_PROGRESS" || last.run_id === null) return null
    return this.chunksOf(client, client.runs.events(threadId, last.run_id), undefined)
  }

  private threadOf(chatId: string): string | undefined {
    return this.threads.get(chatId) ?? (isId(chatId) ? chatId : undefined)
  }

  private sendMessage(client: Client, message: Message, { body, chatId }: SendOptions): Events {
    const { attachments, files } = filesOf(message)
    const kept = attachments.length === 0 ? {} : { attachments }
    const fields = { ...this.options.message, ...body, ...kept, content: textOf(message) }
    const threadId = this.threadOf(chatId)
    if (threadId !== undefined) return client.messages.stream(threadId, fields, { files })
    const { assistantId } = this.options
    const place = assistantId === undefined ? {} : { assistant_id: assistantId }
    const begun = client.messages.streamStateless({ ...fields, ...place }, { files })
    return this.noting(chatId, begun)
  }

  private async *noting(chatId: string, events: Events): Events {
    for await (const event of events) {
      if (!this.threads.has(chatId)) {
        this.threads.set(chatId, event.thread_id)
        this.options.onThread?.(event.thread_id, chatId)
      }
      yield event
    }
  }

  private sendOutputs(client: Client, message: Message): Events {
    if (message.metadata === undefined) throw new Error("This message does not say which run asked for its tools.")
    const { runId, threadId } = message.metadata
    return client.runs.streamToolOutputs(threadId, runId, { tool_outputs: outputsOf(message) })
  }

  private chunksOf(client: Client, events: Events, signal: AbortSignal | undefined): ReadableStream<UIMessageChunk> {
    const { onStop = "cancel" } = this.options
    let lastEvent: ClientEvent | undefined
    const noted = async function* () {
      for await (const event of events) {
        lastEvent = event
        yield event
      }
    }
    const stop = () => {
      if (onStop === "cancel" && lastEvent !== undefined)
        client.runs.cancel(lastEvent.thread_id, lastEvent.run_id).catch(() => {})
      else void events.return()
    }
    signal?.addEventListener("abort", stop, { once: true })
    const chunks = uiChunks(noted())
    return new ReadableStream<UIMessageChunk>({
      pull: async (controller) => {
        const next = await chunks.next()
        if (next.done === true) {
          signal?.removeEventListener("abort", stop)
          controller.close()
        } else controller.enqueue(next.value)
      },
      cancel: async () => {
        await chunks.return()
      }
    })
  }
}

const textOf = ({ parts }: Message): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n")

/** Of the tools that the client answers, those that were called last. */
const outputsOf = ({ parts }: Message) => {
  const lastStep = parts.slice(parts.findLastIndex(({ type }) => type === "step-start") + 1)
  return lastStep.flatMap((part) => {
    if (!("toolCallId" in part) || part.providerExecuted === true) return []
    if (part.state === "output-available")
      return [
        {
          tool_call_id: part.toolCallId,
          output: typeof part.output === "string" ? part.output : JSON.stringify(part.output)
        }
      ]
    if (part.state === "output-error") return [{ tool_call_id: part.toolCallId, output: `Error: ${part.errorText}` }]
    return []
  })
}

/**
 * A `ChatTransport` over the public API: `useChat({ id: threadId, transport: new ColloquyTransport({ baseUrl, … }) })`. The chat's id is the
 * thread's. A chat with any other id begins a thread at its first message, and keeps it for as long as the transport lives.
 *
 * The server holds the conversation: of the chat's messages only the new one is sent, or the outputs of its tools and
 * the user's decisions about calls that wait for an approval. `regenerate` and an edit
 * (`sendMessage({ text, messageId })`) send a stored question again, in its place.
 */
import type { ChatTransport, UIMessage, UIMessageChunk } from "ai"
import type { ClientEvent, EventIds } from "../client/ClientEvents.ts"
import { type Client, type ClientOptions, connect } from "../client/PromiseClient.ts"
import type { MessageRequest } from "../wire/MessageBody.ts"
import { filesToSend } from "./MessageFiles.ts"
import { type Decided, type TurnMetadata, uiChunks } from "./UiChunks.ts"

/** The address of the API, and the fields of every message. */
export interface TransportOptions extends ClientOptions {
  /** The assistant of the thread that a new chat begins. Absent: a new assistant. */
  readonly assistantId?: string
  /** Fields of every message: `tools`, `memory`, `model_name`, …; `body` of a single call goes over them. */
  readonly message?: Omit<MessageRequest, "content" | "stream">
  /** Called when a chat has begun a thread: keep its id, so that the chat can be opened again. */
  readonly onThread?: (threadId: string, chatId: string) => void
  /** The effect of `stop`: it ends the run (the default), or only leaves it. */
  readonly onStop?: "cancel" | "leave"
}

type Message = UIMessage<TurnMetadata>
type SendOptions = Parameters<ChatTransport<Message>["sendMessages"]>[0]
type ReconnectOptions = Parameters<ChatTransport<Message>["reconnectToStream"]>[0]
type Events = AsyncGenerator<ClientEvent, void, undefined>
/** The first one that has an event is the answer. */
type Sources = ReadonlyArray<() => Events>

const isId = (text: string): boolean => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iu.test(text)

export class ColloquyTransport implements ChatTransport<Message> {
  /** `reconnectToStream` gives all events of the run, from the first one on. */
  readonly resumeStreamIsReplay = true
  private readonly options: TransportOptions
  private readonly client: Promise<Client>
  /** Threads of chats whose own id is not a thread's. */
  private readonly threads = new Map<string, string>()
  /** Stored messages of the user, by the ids that they have in a chat. */
  private readonly questions = new Map<string, string>()

  constructor(options: TransportOptions) {
    this.options = options
    this.client = connect(options)
  }

  readonly sendMessages = async (options: SendOptions): Promise<ReadableStream<UIMessageChunk>> => {
    const client = await this.client
    const last = options.messages.at(-1)
    if (last === undefined) throw new Error("There is no message to send.")
    if (last.role !== "assistant") {
      const events = await this.sendMessage(client, last, options)
      return this.chunkStream(client, [() => events], options.abortSignal, [], (event) =>
        this.note(event, last, options)
      )
    }
    const decided = readDecisions(last)
    return this.chunkStream(client, this.sendAnswers(client, last, decided), options.abortSignal, decided)
  }

  readonly reconnectToStream = async ({
    abortSignal,
    chatId
  }: ReconnectOptions): Promise<ReadableStream<UIMessageChunk> | null> => {
    const threadId = this.knownThread(chatId)
    if (threadId === undefined) return null
    const client = await this.client
    const { run_id, status } = (await client.threads.get(threadId)).messages.at(-1) ?? {}
    if (status !== "IN_PROGRESS" || typeof run_id !== "string") return null
    return this.chunkStream(client, [() => client.runs.events(threadId, run_id)], abortSignal)
  }

  private knownThread(chatId: string): string | undefined {
    return this.threads.get(chatId) ?? (isId(chatId) ? chatId : undefined)
  }

  private async sendMessage(client: Client, message: Message, options: SendOptions): Promise<Events> {
    const { body, chatId, messageId, trigger } = options
    const { attachments, files } = filesToSend(message)
    const kept = attachments.length === 0 ? {} : { attachments }
    const fields = { ...this.options.message, ...body, ...kept, content: joinedText(message) }
    const threadId = this.knownThread(chatId)
    if (threadId !== undefined) {
      const isAgain = trigger === "regenerate-message" || messageId !== undefined
      const ids = isAgain ? await this.findMessage(client, threadId, message, options) : undefined
      if (ids === undefined) return client.messages.stream(threadId, fields, { files })
      if (trigger === "regenerate-message")
        return client.messages.streamRegenerate(ids, { ...this.options.message, ...body })
      if (files.length > 0) throw new Error("An edit takes no new files. Send them with a message of its own.")
      return client.messages.streamEdit(ids, fields)
    }
    const { assistantId } = this.options
    const asked = assistantId === undefined ? {} : { assistant_id: assistantId }
    return client.messages.streamStateless({ ...fields, ...asked }, { files })
  }

  /**
   * The stored message of a question in the chat: the one that this transport has sent, one with the chat's id, or the one at the same position
   * among the questions. Undefined: there is none, because the message was never stored.
   */
  private async findMessage(client: Client, threadId: string, { id }: Message, { messages }: SendOptions) {
    const known = this.questions.get(id)
    if (known !== undefined) return { threadId, messageId: known }
    const stored = (await client.threads.get(threadId)).messages.filter(({ role }) => role === "user")
    const position = messages.filter(({ role }) => role === "user").length - 1
    const messageId = (stored.find(({ message_id }) => message_id === id) ?? stored[position])?.message_id
    return messageId === undefined ? undefined : { threadId, messageId }
  }

  private note(event: ClientEvent, { id }: Message, { chatId }: SendOptions): void {
    if (event.type === "user_message") this.questions.set(id, event.message_id)
    if (this.knownThread(chatId) === undefined) {
      this.threads.set(chatId, event.thread_id)
      this.options.onThread?.(event.thread_id, chatId)
    }
  }

  /** A decision that is sent once more changes nothing; outputs are sent only while the run waits for them. */
  private sendAnswers(client: Client, message: Message, decided: ReadonlyArray<UserDecision>): Sources {
    if (message.metadata === undefined) throw new Error("This message does not say which run asked for its tools.")
    const { runId, threadId } = message.metadata
    const tool_outputs = lastToolOutputs(message)
    const outputs = () => client.runs.streamToolOutputs(threadId, runId, { tool_outputs })
    if (decided.length === 0) return [outputs]
    const approvals = decided.map(({ approved, reason, toolCallId }) => ({
      tool_call_id: toolCallId,
      decision: approved ? ("approve" as const) : ("reject" as const),
      ...(reason === undefined ? {} : { reason })
    }))
    const decisions = () => client.runs.streamDecisions(threadId, runId, { approvals })
    return tool_outputs.length === 0 ? [decisions] : [decisions, outputs]
  }

  private chunkStream(
    client: Client,
    sources: Sources,
    signal: AbortSignal | undefined,
    decided: ReadonlyArray<UserDecision> = [],
    note: (event: ClientEvent) => void = () => {}
  ): ReadableStream<UIMessageChunk> {
    signal?.throwIfAborted()
    const { onStop = "cancel" } = this.options
    let events: Events | undefined
    let run: EventIds | undefined
    let [isLeft, isStopped] = [false, false]
    const cancelRun = ({ run_id, thread_id }: EventIds) => void client.runs.cancel(thread_id, run_id).catch(() => {})
    const noted = async function* () {
      for (const source of sources) {
        if (run !== undefined || isLeft) return
        events = source()
        for await (const event of events) {
          if (run === undefined && isStopped) cancelRun(event)
          run = event
          note(event)
          if (isLeft) return
          yield event
        }
      }
    }
    /** A run that is to be cancelled is known by its first event. */
    const leave = () => {
      isLeft = true
      if (run !== undefined || !isStopped) void events?.return()
    }
    const stop = () => {
      if (onStop === "leave") return leave()
      isStopped = true
      if (run !== undefined) cancelRun(run)
    }
    signal?.addEventListener("abort", stop, { once: true })
    const chunks = uiChunks(noted(), decided)
    return new ReadableStream<UIMessageChunk>({
      pull: async (controller) => {
        const next = await chunks.next()
        if (next.done === true) {
          signal?.removeEventListener("abort", stop)
          controller.close()
        } else controller.enqueue(next.value)
      },
      cancel: () => {
        leave()
        void chunks.return()
      }
    })
  }
}

const joinedText = ({ parts }: Message): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n")

interface UserDecision extends Decided {
  readonly reason: string | undefined
}

const lastStepParts = ({ parts }: Message) => parts.slice(parts.findLastIndex(({ type }) => type === "step-start") + 1)

/** The decisions of the user about calls that wait for an approval. */
const readDecisions = (message: Message): ReadonlyArray<UserDecision> =>
  lastStepParts(message).flatMap((part) =>
    "toolCallId" in part && part.state === "approval-responded"
      ? [{ toolCallId: part.toolCallId, approved: part.approval.approved, reason: part.approval.reason }]
      : []
  )

/** Of the tools that the client answers, those that were called last. */
const lastToolOutputs = (message: Message) =>
  lastStepParts(message).flatMap((part) => {
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

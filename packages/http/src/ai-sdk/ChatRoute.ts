/**
 * A route that speaks the UI message stream, for a `useChat` that is pointed at an address: `export const POST = chatRoute({ handler })`
 * beside the mounted service. It is the transport on the server's side: the request's own headers go on to the handler, so it can do what
 * its sender may do and nothing else.
 */
import type { UIMessage } from "ai"
import { withoutLineEnds } from "../streams/LineEnds.ts"
import { ColloquyTransport, type TransportOptions } from "./ColloquyTransport.ts"
import type { TurnMetadata } from "./UiChunks.ts"

/**
 * The handler of the API, and the assistant of the chat. `message` has the fields of every message; the page cannot change them. Of the page's
 * `body` the fields of your own wings go on, and none of the API: models and tools are the host's to choose.
 */
export interface ChatRouteOptions extends Pick<TransportOptions, "assistantId" | "message"> {
  /** `handler` of `webHandler`. */
  readonly handler: (request: Request) => Promise<Response>
  /** Where the handler is mounted: its `basePath`. */
  readonly basePath?: string
  /**
   * The effect of a request that its page gives up: it ends the run, or only leaves it (the default). A page that is loaded again gives its
   * request up, too: with `cancel` it has no answer to go on with.
   */
  readonly onStop?: "cancel" | "leave"
}

interface ChatRequest {
  readonly id: string
  readonly messages: Array<UIMessage<TurnMetadata>>
  readonly trigger: "submit-message" | "regenerate-message"
  readonly messageId: string | undefined
  /** Further fields of the body. */
  readonly more: object
}

/** The fields of a chat, and those of the API in bodies of messages. A test compares these with the API. */
const notOfWings = new Set(
  (
    "trigger messageId " +
    "content assistant_id assistant_version thread_id in llm_provider model_name system_prompt thinking model_options router tools " +
    "stream background send_to_llm json_output output_schema output_name citations custom_timestamp metadata attachments " +
    "memory memory_pro memory_citation memory_response_citation web_search system_one voice " +
    "image_generation image_model_provider image_model_name image_config " +
    "video_generation video_model_provider video_model_name video_config"
  ).split(" ")
)

/**
 * The headers that say something about this one body, its answer or its connection. All others go on: a host's `authenticate` may read
 * any of them, and the API refuses a session from another site's page.
 */
const ownHeaders =
  /^(?:accept|accept-encoding|connection|content-.*|expect|idempotency-key|if-.*|keep-alive|last-event-id|range|te|trailer|transfer-encoding|upgrade)$/u

const headers = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
  "x-vercel-ai-ui-message-stream": "v1"
}

/** `POST` sends; `GET …/{chat}/stream` goes on with an answer that is under way. */
export const chatRoute =
  ({ basePath = "", handler, ...options }: ChatRouteOptions) =>
  async (request: Request): Promise<Response> => {
    const transport = new ColloquyTransport({
      ...options,
      baseUrl: new URL(basePath.replace(/^\/*/u, "/"), request.url).href.replace(/\/$/u, ""),
      headers: Object.fromEntries([...request.headers].filter(([name]) => !ownHeaders.test(name))),
      handler
    })
    const gone = new AbortController()
    const leave = () => gone.abort()
    request.signal.addEventListener("abort", leave, { once: true })
    const ending = options.onStop === "cancel" ? { abortSignal: gone.signal } : {}
    try {
      if (request.method === "GET") {
        const chatId = /\/([^/]+)\/stream\/?$/u.exec(new URL(request.url).pathname)?.[1]
        const stream = chatId === undefined ? null : await transport.reconnectToStream({ chatId, ...ending })
        return stream === null ? new Response(null, { status: 204 }) : eventStream(stream, leave)
      }
      const body = readChatRequest(await request.json().catch(() => null))
      if (body === null)
        return Response.json({ detail: "The body is not that of a chat: id and messages." }, { status: 422 })
      return eventStream(
        await transport.sendMessages({
          trigger: body.trigger,
          chatId: body.id,
          messageId: body.messageId,
          messages: body.messages,
          body: { ...body.more, ...options.message },
          abortSignal: ending.abortSignal
        }),
        leave
      )
    } catch (error) {
      return Response.json({ detail: failureText(error) }, { status: 422 })
    }
  }

/** Of the messages only texts, files, outputs of tools and ids are read, and the API behind checks all of them. */
const readChatRequest = (body: unknown): ChatRequest | null => {
  if (typeof body !== "object" || body === null || !("id" in body && "messages" in body)) return null
  const { id, messages, ...rest } = body
  if (!Array.isArray(messages)) return null
  return {
    id: String(id),
    messages,
    trigger: "trigger" in rest && rest.trigger === "regenerate-message" ? rest.trigger : "submit-message",
    messageId: "messageId" in rest && typeof rest.messageId === "string" ? rest.messageId : undefined,
    more: Object.fromEntries(Object.entries(rest).filter(([name]) => !notOfWings.has(name)))
  }
}

const failureText = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Sends a refusal of the API as the first chunk of the stream, because `useChat` looks for it there. */
const eventStream = (chunks: ReadableStream<unknown>, onGone: () => void): Response => {
  const encoder = new TextEncoder()
  const line = (data: string) => encoder.encode(`data: ${withoutLineEnds(data)}\n\n`)
  const reader = chunks.getReader()
  const bytes = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const next = await reader.read()
        if (!next.done) return controller.enqueue(line(JSON.stringify(next.value)))
      } catch (error) {
        controller.enqueue(line(JSON.stringify({ type: "error", errorText: failureText(error) })))
      }
      controller.enqueue(line("[DONE]"))
      controller.close()
    },
    cancel: (reason) => {
      onGone()
      return reader.cancel(reason)
    }
  })
  return new Response(bytes, { headers })
}

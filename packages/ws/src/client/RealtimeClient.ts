/**
 * A typed client of the realtime socket, in one file without dependencies: for browsers, with a ticket, and for Node.js, with a key in a header
 * (see `open`). It sends the first frame and passes events on as they arrive, without validating them.
 */

export interface WireAudioFormat {
  readonly encoding: "pcm_s16le" | "pcmu" | "pcma"
  readonly sample_rate: number
  readonly channels: number
}

type Role = "user" | "assistant"

/** What the service sends, as JSON. */
export type RealtimeEvent =
  | {
      readonly type: "session.begin"
      readonly session_id: string
      readonly thread_id: string
      readonly assistant_id: string
      readonly input_format: WireAudioFormat
      readonly output_format: WireAudioFormat
      readonly provider?: string
      readonly model?: string
    }
  | ({ readonly type: "audio.delta"; readonly item_id: string; readonly data: string } & WireAudioFormat)
  | { readonly type: "transcript.started"; readonly item_id: string; readonly role: Role }
  | { readonly type: "transcript.delta"; readonly item_id: string; readonly role: Role; readonly text: string }
  | { readonly type: "transcript.final"; readonly item_id: string; readonly role: Role; readonly text: string }
  | { readonly type: "transcript.failed"; readonly item_id: string; readonly role: Role }
  | {
      readonly type: "tool.call"
      readonly tool_call_id: string
      readonly name: string
      readonly arguments: unknown
      readonly hosted: boolean
    }
  | { readonly type: "tool.cancelled"; readonly tool_call_ids: ReadonlyArray<string> }
  | { readonly type: "tool.completed"; readonly tool_call_id: string }
  | {
      readonly type: "media.generated"
      readonly tool_call_id: string
      readonly generated_media: ReadonlyArray<unknown>
    }
  | { readonly type: "response.done" }
  | { readonly type: "interrupted" }
  | { readonly type: "provider.event"; readonly event: unknown }
  | {
      readonly type: "session.ended"
      /** Null: not known. */
      readonly provider_cost_usd?: number | null
      readonly charged_usd?: number | null
      readonly reconciliation_required?: boolean
    }
  | { readonly type: "error"; readonly code: string; readonly message: string }

/** The first frame, as the API defines it. */
export interface FirstFrame {
  readonly provider: string
  readonly model: string
  readonly thread_id?: string
  readonly assistant_id?: string
  readonly system_prompt?: string | null
  readonly tools?: ReadonlyArray<unknown> | null
  readonly provider_options?: { readonly [field: string]: unknown }
  readonly memory?: "off" | "Readonly" | "Auto"
  readonly memory_pro?: "off" | "Readonly" | "Auto"
  readonly web_search?: "off" | "Auto"
  readonly image_generation?: "off" | "auto"
  readonly image_model_provider?: string
  readonly image_model_name?: string
  readonly image_config?: { readonly [field: string]: unknown }
  readonly video_generation?: "off" | "auto"
  readonly video_model_provider?: string
  readonly video_model_name?: string
  readonly video_config?: { readonly [field: string]: unknown }
}

/** The members of a WebSocket that the client uses. The platform's WebSocket has them, and so has that of the package `ws`. */
export interface ClientConnection {
  binaryType: string
  readonly readyState: number
  send(data: string | ArrayBuffer | Uint8Array<ArrayBuffer>): void
  close(): void
  addEventListener(type: "open", listener: () => void): void
  addEventListener(type: "message", listener: (event: { readonly data: unknown }) => void): void
  addEventListener(type: "close", listener: (event: { readonly code: number; readonly reason: string }) => void): void
}

/** The ready states of a connection that is being opened, and of an open one. */
const [isConnecting, isOpen] = [0, 1]

/** The address, the proof and the first frame of a session. */
export interface RealtimeClientOptions {
  /** `wss://…/threads/realtime`, without a query. */
  readonly url: string
  /** A ticket from `POST /threads/realtime/tickets`. */
  readonly ticket?: string
  readonly first: FirstFrame
  /** Opens the WebSocket. On Node.js, use a WebSocket that can send the header `X-API-Key`. Default: the platform's WebSocket. */
  readonly open?: (url: string) => ClientConnection
  readonly onEvent: (event: RealtimeEvent) => void
  /** Called when the connection is closed. */
  readonly onClose?: (code: number, reason: string) => void
}

export class RealtimeClient {
  private readonly socket: ClientConnection
  private readonly ended: Promise<void>
  private hasBegun = false

  constructor({ first, onClose, onEvent, open = (url) => new WebSocket(url), ticket, url }: RealtimeClientOptions) {
    this.socket = open(ticket === undefined ? url : `${url}?ticket=${encodeURIComponent(ticket)}`)
    this.socket.binaryType = "arraybuffer"
    this.socket.addEventListener("open", () => this.socket.send(JSON.stringify(first)))
    this.socket.addEventListener("message", ({ data }) => {
      const event: RealtimeEvent = JSON.parse(String(data))
      if (event.type === "session.begin") this.hasBegun = true
      onEvent(event)
    })
    this.ended = new Promise((resolve) => {
      this.socket.addEventListener("close", ({ code, reason }) => {
        onClose?.(code, reason)
        resolve()
      })
    })
  }

  /** Sends audio in the session's input format. Audio before `session.begin` is dropped, because the service would refuse it. */
  sendAudio(audio: ArrayBuffer | Uint8Array<ArrayBuffer>): void {
    if (this.hasBegun && this.socket.readyState === isOpen) this.socket.send(audio)
  }

  sendText(text: string): void {
    this.send({ type: "text", text })
  }

  /** Ends a manual audio turn. */
  commit(): void {
    this.send({ type: "commit" })
  }

  /** Stops the response. Also stop your own playback. */
  cancel(): void {
    this.send({ type: "cancel" })
  }

  /**
   * Says how many milliseconds of an item's audio were played. Report a few times a second while you play: after an interruption, the last report
   * counts as heard. Without reports the service assumes that audio is played as soon as it arrives.
   */
  reportPlayed(itemId: string, milliseconds: number): void {
    this.send({ type: "audio.played", item_id: itemId, played_ms: milliseconds })
  }

  sendToolOutputs(
    outputs: ReadonlyArray<{ readonly tool_call_id: string; readonly name: string; readonly output: unknown }>
  ): void {
    this.send({ type: "tool.outputs", outputs })
  }

  sendProviderEvent(event: { readonly [field: string]: unknown }): void {
    this.send({ type: "provider.event", event })
  }

  /** Ends the session, and waits until all events have arrived and the connection is closed. While it is being opened, it does not begin. */
  async stop(): Promise<void> {
    if (this.socket.readyState === isConnecting) this.socket.close()
    else this.send({ type: "stop" })
    await this.ended
  }

  /** Closes the connection immediately. */
  close(): void {
    this.socket.close()
  }

  private send(frame: object): void {
    if (this.socket.readyState === isOpen) this.socket.send(JSON.stringify(frame))
  }
}

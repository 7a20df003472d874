/**
 * A protocol in front of voice sessions: its path, how its clients prove who they are, and how one connection speaks. The socket of the service
 * itself is one (`ownDoor`); a host adds others with the option `doors`. Everything else of a connection (sizes, slots, pings, queues) is the same
 * for all of them.
 */
import type { ModelInfo } from "@colloquy/core"
import type { AudioFormat, ClientInput, ServiceEvent } from "@colloquy/core/realtime"
import type { Buffer } from "node:buffer"
import type { IncomingMessage } from "node:http"
import type { UrlOf } from "./Wire.ts"

/** What a client sends as its proof, beside what the host's own `authenticate` reads. */
export interface Proof {
  readonly key: string | null
  readonly ticket: string | null
}

/** What a protocol of a host over the socket may use: the query of the address, the models, and functions that send, receive and pause. */
export interface Connection {
  readonly query: URLSearchParams
  /** The models of all vendors. */
  readonly models: ReadonlyArray<ModelInfo>
  readonly documentUrl: UrlOf | undefined
  /** Whether a complete frame may be sent as a string of its bytes, marked as audio. */
  readonly takesFrames: () => boolean
  /** A piece of audio is given as bytes, or as a complete frame if `takesFrames` says so. An interruption discards the audio that waits. */
  readonly send: (frame: string | Buffer, isAudio: boolean) => void
  /** An input for the session. */
  readonly receive: (input: ClientInput) => void
  /** Stops and resumes reading from the client, beside other reasons for it. */
  readonly hold: (isHeld: boolean) => void
}

/**
 * The translation of one connection, with the state that its protocol needs. All functions are synchronous. Members that take a value of
 * Node's types are methods, here and in `FrontDoor`. The declarations of `colloquy` have these types with fewer members, and a door that
 * was made for Node's types fits them too.
 */
export interface SessionWire {
  /** The owner is known, and the client is read from now on. */
  readonly open?: () => void
  readonly onText: (text: string, bytes: number) => void
  onBinary(bytes: Buffer): void
  readonly event: (event: ServiceEvent) => void
  readonly audio: (itemId: string, base64: Uint8Array, format: AudioFormat) => void
  /** The error of a frame that is too large, before the connection is closed. */
  readonly tooLarge: (message: string) => string
}

export interface FrontDoor {
  /** The path below the base path, such as `/threads/realtime`. */
  readonly path: string
  proof(request: IncomingMessage, query: URLSearchParams): Proof
  /** The subprotocol to agree on, of those that the client offers. */
  readonly subprotocol: (offered: ReadonlySet<string>) => string | false
  readonly wire: (connection: Connection) => SessionWire
}

/**
 * The port for a realtime vendor that uses a socket: the settings of the socket, and a mapping between the vendor's messages and the kernel's
 * events and commands. A mapping has a little state (the active response, the open calls), but no effects and no clock: the time is passed with
 * each message, and the mapping calls the sink directly. `SocketLink` connects a mapping to a socket.
 */
import type { PreparedSession, Refusal, VendorCommand, VendorEvent } from "@colloquy/core/realtime"
import type * as Redacted from "effect/Redacted"
import type * as Schema from "effect/Schema"

/** A JSON object. */
export type Fields = { readonly [field: string]: Schema.Json }

/** Receives the output of a mapping. */
export interface MappingSink {
  readonly event: (event: VendorEvent) => void
  readonly audio: (itemId: string, base64: Uint8Array) => void
  /** Sends one JSON text to the vendor. */
  readonly send: (message: string) => void
  /**
   * Opens a new connection, because the vendor will soon close this one. Its first messages are those of `opening`. When it is set up,
   * `mayMove` is called.
   */
  readonly redial: () => void
}

/** A message of ASCII text that contains audio. It is in three parts, because joining them would copy the audio once more. */
export interface AudioMessage {
  readonly before: string
  readonly base64: string
  readonly after: string
}

export const textOfAudio = ({ after, base64, before }: AudioMessage): string => before + base64 + after

export interface VendorMapping {
  /** The first messages on a new connection. After `redial` they resume the session. */
  readonly opening: () => ReadonlyArray<string>
  /** Whether the session may go on with the new connection now. False: an answer has begun meanwhile. The mapping calls `redial` after it. */
  readonly mayMove: () => boolean
  /** Handles one message of the vendor. */
  readonly receive: (message: Buffer, now: number) => void
  /** Handles a command of the client. Null when it was accepted. */
  readonly command: (command: VendorCommand, now: number) => Refusal | null
  /** The vendor's message for audio of the client. Null when it must not be sent now. */
  readonly audio: (pcm: Uint8Array, now: number) => AudioMessage | null
  /** The client has left. The current response is cancelled if the vendor supports that, so that the vendor reports its usage. */
  readonly finish: () => void
  /** Called when the vendor has not acknowledged everything in time. The session begins if the vendor has acknowledged the setup. */
  readonly stopWaiting: () => void
}

/** A vendor's session before its connection is opened. */
export interface MappedSession extends Omit<PreparedSession, "connect"> {
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  /** The key in the URL or the headers. It is removed from the vendor's own texts. */
  readonly apiKey: Redacted.Redacted<string> | null
  readonly makeMapping: (sink: MappingSink) => VendorMapping
}

/**
 * Merges the client's settings into the defaults. Objects are merged; every other value, also null, replaces the default. If the client's object
 * has another `type` than the default object, it replaces the whole default object.
 */
export const mergeOptions = (defaults: Fields, options: Fields): Fields => {
  if (options["type"] !== undefined && defaults["type"] !== undefined && options["type"] !== defaults["type"])
    return options
  const merged: Record<string, Schema.Json> = { ...defaults }
  for (const [key, value] of Object.entries(options)) {
    const before = Object.hasOwn(defaults, key) ? defaults[key] : undefined
    Object.defineProperty(merged, key, {
      value: isObject(before) && isObject(value) ? mergeOptions(before, value) : value,
      enumerable: true,
      configurable: true,
      writable: true
    })
  }
  return merged
}

export const isObject = (value: Schema.Json | undefined): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The value at a path; undefined when a step of the path is not an object. */
export const at = (value: Schema.Json | undefined, ...path: ReadonlyArray<string>): Schema.Json | undefined =>
  path.reduce<Schema.Json | undefined>(
    (found, key) => (isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined),
    value
  )

/** A name that two tools have, among the service's tools and those in the client's options. Such a setup is refused. */
export const takenName = (ours: ReadonlyArray<string>, native: ReadonlyArray<unknown>): string | undefined => {
  const seen = new Set(ours)
  for (const name of native) {
    if (typeof name !== "string") continue
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}

export const textOfMessage = (message: Buffer): string => message.toString("utf8")

/** A vendor's message for the client, which gets every message that is not only audio. */
export const nativeEvent = (message: Buffer): VendorEvent => ({ _tag: "Native", json: textOfMessage(message) })

const isList = (value: Schema.Json | undefined): value is ReadonlyArray<Schema.Json> => Array.isArray(value)

/** The list in a field; empty when the field is not a list. */
export const listAt = (object: Fields, key: string): ReadonlyArray<Schema.Json> => {
  const value = Object.hasOwn(object, key) ? object[key] : undefined
  return isList(value) ? value : []
}

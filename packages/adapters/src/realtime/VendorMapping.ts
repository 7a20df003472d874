/**
 * What a vendor over a socket is: the socket's settings, and a two-way mapping between the vendor's messages and the neutral ones. A
 * mapping keeps the little memory that it needs (which response is active, which calls are open) and has no effects and no clock: time
 * comes with the message, and what it has to say goes to the sink at once. `SocketLink` puts a mapping on a socket.
 */
import type { PreparedSession, Refusal, VendorCommand, VendorEvent } from "@colloquy/core/realtime"
import type * as Schema from "effect/Schema"

/** A JSON object that is put together field by field. */
export type Fields = { readonly [field: string]: Schema.Json }

/** Where a mapping speaks to. */
export interface MappingSink {
  readonly event: (event: VendorEvent) => void
  readonly audio: (itemId: string, base64: Uint8Array) => void
  /** To the vendor: one JSON text. */
  readonly send: (message: string) => void
  /** The vendor will close this connection soon: dial again, with `opening` as the first messages. */
  readonly redial: () => void
}

/** A message of ASCII text with audio in it, in three parts: joined they are one more copy of the audio. */
export interface AudioMessage {
  readonly before: string
  readonly base64: string
  readonly after: string
}

export const textOfAudio = ({ after, base64, before }: AudioMessage): string => before + base64 + after

export interface VendorMapping {
  /** The first messages on a fresh connection. After `redial` they resume the session. */
  readonly opening: () => ReadonlyArray<string>
  /** One message of the vendor. */
  readonly receive: (message: Buffer, now: number) => void
  /** Null when the command was taken. */
  readonly command: (command: VendorCommand, now: number) => Refusal | null
  /** Audio of the client as the vendor's message; null: it must not be sent now. */
  readonly audio: (pcm: Uint8Array, now: number) => AudioMessage | null
  /** The client says nothing more. An answer that is being given is broken off, where the vendor can, so that its usage becomes known. */
  readonly finish: () => void
  /** The vendor has not acknowledged the setup for a while: begin without. */
  readonly stopWaiting: () => void
}

/** A vendor's session before it is dialled. */
export interface MappedSession extends Omit<PreparedSession, "connect"> {
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  readonly makeMapping: (sink: MappingSink) => VendorMapping
}

/**
 * The client's settings over the defaults: objects are merged, everything else replaces, null too. Where the settings name another `type`
 * of an object, what belonged to the default's type goes.
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

/** The value at a path, where every step on the way is an object. */
export const at = (value: Schema.Json | undefined, ...path: ReadonlyArray<string>): Schema.Json | undefined =>
  path.reduce<Schema.Json | undefined>(
    (found, key) => (isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined),
    value
  )

/** Functions of the client beside those of the service: a name that stands in both refuses the setup. */
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

/** A message that the client sees: anything but pure audio. */
export const nativeEvent = (message: Buffer): VendorEvent => ({ _tag: "Native", json: textOfMessage(message) })

const isList = (value: Schema.Json | undefined): value is ReadonlyArray<Schema.Json> => Array.isArray(value)

/** The list under this key; nothing when it is none. */
export const listAt = (object: Fields, key: string): ReadonlyArray<Schema.Json> => {
  const value = Object.hasOwn(object, key) ? object[key] : undefined
  return isList(value) ? value : []
}

/** A vendor's mapping with everything that it says written down. */
import type { SessionSetup, VendorCommand, VendorEvent } from "@colloquy/core/realtime"
import * as Result from "effect/Result"
import { type MappedSession, textOfAudio, type VendorMapping } from "../../src/realtime/VendorMapping.ts"

export const setup = (fields: Partial<SessionSetup> = {}): SessionSetup => ({
  model: "voice-1",
  instructions: null,
  tools: [],
  options: {},
  history: [],
  apiKey: null,
  ...fields
})

export interface Recorded {
  readonly mapping: VendorMapping
  readonly events: ReadonlyArray<VendorEvent>
  /** Events but the native ones. */
  readonly neutral: () => ReadonlyArray<VendorEvent>
  readonly tags: () => ReadonlyArray<string>
  readonly audio: ReadonlyArray<readonly [itemId: string, base64: string]>
  readonly sent: ReadonlyArray<{ readonly [field: string]: unknown }>
  readonly types: () => ReadonlyArray<unknown>
  readonly redials: () => number
  /** Messages of the vendor, now or at this time. */
  readonly hear: (...messages: ReadonlyArray<object>) => void
  readonly hearAt: (now: number, ...messages: ReadonlyArray<object>) => void
  readonly tell: (command: VendorCommand, now?: number) => ReturnType<VendorMapping["command"]>
  /** The message for this audio, parsed; null where there is none. */
  readonly messageFor: (pcm: Uint8Array) => { readonly [field: string]: unknown } | null
  /** Forgets what was written down so far. */
  readonly clear: () => void
}

export const record = (session: Result.Result<MappedSession, unknown>): Recorded => {
  const events: Array<VendorEvent> = []
  const audio: Array<readonly [string, string]> = []
  const sent: Array<{ readonly [field: string]: unknown }> = []
  let redials = 0
  const mapping = Result.getOrThrow(session).makeMapping({
    event: (event) => events.push(event),
    audio: (itemId, base64) => audio.push([itemId, Buffer.from(base64).toString("latin1")]),
    send: (message) => sent.push(JSON.parse(message)),
    redial: () => {
      redials++
    }
  })
  const hearAt = (now: number, ...messages: ReadonlyArray<object>) => {
    for (const message of messages) mapping.receive(Buffer.from(JSON.stringify(message)), now)
  }
  return {
    mapping,
    events,
    neutral: () => events.filter(({ _tag }) => _tag !== "Native"),
    tags: () => events.filter(({ _tag }) => _tag !== "Native").map(({ _tag }) => _tag),
    audio,
    sent,
    types: () => sent.map(({ type }) => type),
    redials: () => redials,
    hear: (...messages) => hearAt(0, ...messages),
    hearAt,
    tell: (command, now = 0) => mapping.command(command, now),
    messageFor: (pcm) => {
      const message = mapping.audio(pcm, 0)
      return message === null ? null : JSON.parse(textOfAudio(message))
    },
    clear: () => {
      events.length = 0
      audio.length = 0
      sent.length = 0
    }
  }
}

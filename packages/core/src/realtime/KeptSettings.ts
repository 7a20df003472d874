/** Pure: what a client has set of its voice sessions, as a field of the thread's metadata. A session that asks for it begins with that. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Metadata } from "../threads/Thread.ts"
import { type SessionRequest, SessionSettings } from "./Frames.ts"

const field = "voice_settings"

const Kept = Schema.Struct({ [field]: SessionSettings })
const decode = Schema.decodeUnknownOption(Kept)
const encode = Schema.encodeSync(Kept)

export const settingsFields = (settings: SessionSettings): Metadata => encode({ [field]: settings })

/** Metadata that a client has changed to something else counts as none. */
const settingsIn = (metadata: Metadata | null): SessionSettings =>
  Option.match(decode(metadata), { onNone: () => ({}), onSome: (kept) => kept[field] })

/** The request of a session whose thread may have kept settings, with all of them. */
export const withKept = (request: SessionRequest, metadata: Metadata | null): SessionRequest => {
  if (request.kept === undefined) return request
  const kept = { ...settingsIn(metadata), ...request.kept }
  return { ...request, kept, systemPrompt: kept.systemPrompt ?? null, tools: kept.tools ?? null }
}

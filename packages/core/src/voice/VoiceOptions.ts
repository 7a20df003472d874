/**
 * The options of a message for voice (`TurnRequest.options.voice`), strictly checked: every unknown or wrong member is reported, and none
 * is guessed. `recording` names the bytes that `Recordings` has stored; the other two are the members of the wire's `voice`.
 */
import * as Schema from "effect/Schema"
import { BlobId, DocumentId } from "../primitives/Ids.ts"

/** What is wrong with an option of speech, and where. */
export interface VoiceProblem {
  readonly path: ReadonlyArray<string>
  readonly message: string
}

/** A recording whose bytes are stored and whose message is not sent yet. */
export const Recorded = Schema.Struct({
  documentId: DocumentId,
  blobId: BlobId,
  filename: Schema.String,
  extension: Schema.String,
  mimeType: Schema.String,
  size: Schema.Int,
  sha256: Schema.String
})
export type Recorded = typeof Recorded.Type

const Text = (maximum: number) => Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(maximum))
const member = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Listening = Schema.Struct({
  provider: member(Text(255)),
  model: member(Text(255)),
  language: member(Schema.String.check(Schema.isPattern(/^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$/u))),
  prompt: member(Schema.String.check(Schema.isMaxLength(4000)))
})

const Speaking = Schema.Struct({
  provider: member(Text(255)),
  model: member(Text(255)),
  voice: member(Text(255)),
  format: member(Schema.Literals(["mp3", "wav", "pcm"])),
  speed: member(Schema.Finite.check(Schema.isBetween({ minimum: 0.25, maximum: 4 })))
})

const Options = Schema.Struct({
  stt: member(Listening),
  tts: member(Speaking),
  recording: member(Recorded)
})
export type VoiceOptions = typeof Options.Type

const directions = { stt: Listening, tts: Speaking }

const sentences: Readonly<Record<string, string>> = {
  provider: "Expected the id of a provider, as text of 1 to 255 characters",
  model: "Expected the name of a model, as text of 1 to 255 characters",
  language: 'Expected a language tag such as "en" or "pt-BR"',
  prompt: "Expected text of at most 4000 characters",
  voice: "Expected the name of a voice, as text of 1 to 255 characters",
  format: 'Expected "mp3", "wav" or "pcm"',
  speed: "Expected a number from 0.25 to 4"
}

/** Every problem of the members of `voice`, as they were sent. */
export const checkVoice = (voice: unknown): ReadonlyArray<VoiceProblem> => {
  if (!isObject(voice)) return [{ path: [], message: 'Expected an object with "stt", "tts" or both' }]
  return Object.entries(voice).flatMap(([name, value]) => {
    const schema = name === "stt" || name === "tts" ? directions[name] : null
    if (schema === null) return [unknown([name], Object.keys(directions))]
    if (value === null) return []
    if (!isObject(value)) return [{ path: [name], message: "Expected an object; {} takes every default" }]
    return checkMembers(name, value, schema.fields)
  })
}

const checkMembers = (
  direction: string,
  given: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, Schema.Top>>
): ReadonlyArray<VoiceProblem> =>
  Object.entries(given).flatMap(([name, value]) => {
    const path = [direction, name]
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field === undefined) return [unknown(path, Object.keys(fields))]
    return Schema.is(field)(value) ? [] : [{ path, message: sentences[name] ?? "This value is not accepted" }]
  })

const unknown = (path: ReadonlyArray<string>, known: ReadonlyArray<string>): VoiceProblem => ({
  path,
  message: `There is no such member. Known: ${known.join(", ")}.`
})

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** For options that `checkVoice` found valid. */
export const decodeVoice = Schema.decodeUnknownOption(Options, { onExcessProperty: "error" })

/** All wings that the wire has words for. What concerns more than one of them is done here, once. */
import type { TurnRequest } from "@colloquy/core"
import * as Schema from "effect/Schema"
import { isBlank, notAvailable, type RawFields } from "../bodies/RawFields.ts"
import type { BodyRules, RawBody } from "../bodies/RequestBody.ts"
import type { UrlOf } from "../links/Links.ts"
import type { PlaceOf } from "../wire/ErrorStatus.ts"
import { answersWing } from "./AnswersWing.ts"
import { documentsWing } from "./DocumentsWing.ts"
import { imageWing, videoWing } from "./MediaWings.ts"
import { memoryWing } from "./MemoryWing.ts"
import { searchWing } from "./SearchWing.ts"
import { voiceWing } from "./VoiceWing.ts"
import type { AbsentMethod, MessageFields, PartFields, PartTold, Wing } from "./Wing.ts"

const wings: ReadonlyArray<Wing> = [documentsWing, memoryWing, answersWing, searchWing, imageWing, videoWing, voiceWing]

type IgnoredOption = NonNullable<TurnRequest["ignored"]>[number]

const byPart = new Map(wings.map((wing) => [wing.part, wing]))

const fieldsOfWings = new Set(wings.flatMap(({ message }) => message?.concerns ?? []))

/** Most messages are a text alone, and no wing has to look at those. */
const isPlain = (fields: object, files: RawBody["files"]): boolean =>
  files.length === 0 && !Object.keys(fields).some((name) => fieldsOfWings.has(name))

export interface AbsentEndpoint {
  readonly method: AbsentMethod
  readonly path: `/${string}`
  readonly title: string
}

export const absentEndpoints: ReadonlyArray<AbsentEndpoint> = wings.flatMap(({ absent }) =>
  absent === undefined ? [] : absent.endpoints.map(([method, path]) => ({ method, path, title: absent.title }))
)

/** The problems of all fields that speak to parts, and those that ask a part which is not there. */
export const problemsOfWings: (fields: RawFields, ...rest: Parameters<BodyRules>) => ReturnType<BodyRules> = (
  fields,
  raw,
  installed
) => {
  if (isPlain(fields, raw.files)) return []
  return wings.flatMap(({ message, part }) => {
    if (message === undefined) return []
    const absent = installed.has(part) ? [] : message.asked(fields)
    return [
      ...(message.problems?.(fields, raw, installed) ?? []),
      ...absent.map(({ path, title }) => notAvailable(path, title))
    ]
  })
}

/** `TurnRequest.options`; undefined when the message asks nothing of any part. */
export const optionsOf = (fields: MessageFields, files: RawBody["files"]): Schema.JsonObject | undefined => {
  if (isPlain(fields, files)) return undefined
  const asked = wings.flatMap(({ message, part }) =>
    message === undefined || message.asked(fields).length === 0 ? [] : [[part, message.options(fields, files)] as const]
  )
  return asked.length === 0 ? undefined : Object.fromEntries(asked)
}

const mayBeIgnored = new Set([...fieldsOfWings, ...wings.flatMap(({ message }) => message?.details?.fields ?? [])])

/** Fields of wings that have no effect in this message, and why. */
export const ignoredIn = (fields: RawFields, isOnlySaved: boolean): ReadonlyArray<IgnoredOption> => {
  if (!Object.keys(fields).some((name) => mayBeIgnored.has(name))) return []
  return wings.flatMap(({ message }) => {
    if (message === undefined) return []
    const asked = message.asked(fields)
    if (asked.length > 0)
      return isOnlySaved && message.needsModel === true
        ? asked.map(({ path }) => ({ option: path.join("."), because: "the message is only saved" }))
        : []
    const { details = { of: "", fields: [] } } = message
    return details.fields
      .filter((name) => !isBlank(fields[name]) && fields[name] !== false)
      .map((option) => ({ option, because: `${details.of} is off` }))
  })
}

/** The field of the message that a refusal of this part is about. */
export const placeOf: PlaceOf = (part, path) => {
  const place = byPart.get(part)?.message?.place
  if (place !== undefined) return place(path)
  return path.length === 0 ? [part] : path
}

/** An event of a part as it goes out, without the fields that all events have. */
export const partEventToWire = (event: PartTold, urlOf: UrlOf): Schema.JsonObject => {
  const encode = byPart.get(event.part)?.event
  if (encode !== undefined) return encode(event, urlOf)
  return Object.assign({}, isJsonObject(event.data) ? event.data : { data: event.data }, { type: event.type })
}

const isJsonObject = Schema.is(Schema.JsonObject)

type Supplements = Schema.JsonObject

/** What parts keep with an answer and with its question, as fields of the wire. Media of all parts are one list. */
export const partFields = (
  answer: Supplements,
  userMessage: Supplements,
  urlOf: UrlOf,
  completedRun: string | null,
  among: ReadonlyArray<Wing> = wings
): Partial<PartFields> => {
  if (!hasFields(answer) && !hasFields(userMessage)) return nothing
  let all: Partial<PartFields> = {}
  for (const { fields, part } of among) {
    const kept = { answer: answer[part] ?? null, userMessage: userMessage[part] ?? null, completedRun }
    if (fields === undefined || (kept.answer === null && kept.userMessage === null)) continue
    const found = fields(kept, urlOf)
    const media = [...(all.generated_media ?? []), ...(found.generated_media ?? [])]
    all = { ...all, ...found, ...(media.length === 0 ? {} : { generated_media: media }) }
  }
  return all
}

const nothing: Partial<PartFields> = {}

const hasFields = (record: object): boolean => {
  for (const _ in record) return true
  return false
}

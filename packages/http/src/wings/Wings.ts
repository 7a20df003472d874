/**
 * The wings of one server: those of the kernel's own rooms, and those that the host registered. What concerns more than one of them is done
 * here, once: which fields of a message ask which part for what, and how the wire shows what parts keep and tell.
 */
import type { TurnRequest } from "@colloquy/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { type Installed, isBlank, notAvailable, type RawFields } from "../bodies/RawFields.ts"
import type { RawBody } from "../bodies/RequestBody.ts"
import { Links, type UrlOf } from "../links/Links.ts"
import type { ValidationError } from "../wire/Errors.ts"
import type { BodyPath } from "../wire/ErrorStatus.ts"
import { isRecord } from "../wire/Json.ts"
import { StatelessMessageBody } from "../wire/MessageBody.ts"
import { answersWing } from "./AnswersWing.ts"
import { citationsWing } from "./CitationsWing.ts"
import { documentsWing } from "./DocumentsWing.ts"
import { helpersWing } from "./HelpersWing.ts"
import { imageWing, videoWing } from "./MediaWings.ts"
import { memoryWing } from "./MemoryWing.ts"
import { outputWing } from "./OutputWing.ts"
import { searchWing } from "./SearchWing.ts"
import { voiceWing } from "./VoiceWing.ts"
import type { MessageFields, PartFields, PartTold, Wing } from "./Wing.ts"

export const ownWings: ReadonlyArray<Wing> = [
  documentsWing,
  memoryWing,
  citationsWing,
  answersWing,
  outputWing,
  searchWing,
  imageWing,
  videoWing,
  voiceWing,
  helpersWing
]

type IgnoredOption = NonNullable<TurnRequest["ignored"]>[number]
type Supplements = Schema.JsonObject

export class Wings extends Context.Service<
  Wings,
  {
    /** The problems of all fields that speak to parts, and those that ask a part which is not there. */
    readonly problems: (fields: RawFields, raw: RawBody, installed: Installed) => ReadonlyArray<ValidationError>
    /** `TurnRequest.options`; undefined when the message asks nothing of any part. */
    readonly options: (fields: MessageFields, raw: RawBody) => Schema.JsonObject | undefined
    /** The parts of which a field of the body speaks, also one that says `off`. */
    readonly named: (body: unknown) => ReadonlyArray<string>
    /** Fields of wings that have no effect in this message, and why. */
    readonly ignored: (fields: RawFields, isOnlySaved: boolean) => ReadonlyArray<IgnoredOption>
    /** The field of the message that a refusal of this part is about. */
    readonly bodyPath: BodyPath
    /** An event of a part as it goes out, without the fields that all events have. */
    readonly event: (event: PartTold) => Schema.JsonObject
    /**
     * What parts keep with an answer and with its question, as fields of the wire. Media of all parts are one list. `completedRun` is the
     * run of the message when it has completed, null otherwise.
     */
    readonly fields: (answer: Supplements, userMessage: Supplements, completedRun: string | null) => Partial<PartFields>
  }
>()("@colloquy/http/Wings") {
  /** `added` are the host's. */
  static readonly layer = (added: ReadonlyArray<Wing>): Layer.Layer<Wings, never, Links> =>
    Layer.effect(
      Wings,
      Effect.gen(function* () {
        const { url } = yield* Links
        const context = yield* Effect.context<never>()
        const tell: TellFault = (said, fault) => void Effect.runForkWith(context)(Effect.logError(said, fault))
        return makeWings([...ownWings, ...withoutClashes(added).map((wing) => shielded(wing, tell))], url)
      })
    )
}

type TellFault = (said: string, fault: unknown) => void

/**
 * A host's wing adds fields and takes none of the API. What its code cannot show is left out, with a line in the server's log: a conversation
 * can be read all the same.
 */
const shielded = (wing: Wing, tell: TellFault): Wing => {
  const { event, fields, part } = wing
  const shown = <A>(what: string, show: () => A, instead: A): A => {
    try {
      return show()
    } catch (fault) {
      tell(`The wing of the part "${part}" could not show ${what}`, fault)
      return instead
    }
  }
  return {
    ...wing,
    ...(fields === undefined
      ? {}
      : { fields: (kept, urlOf) => ({ added: shown("its fields", () => fields(kept, urlOf).added ?? {}, {}) }) }),
    ...(event === undefined
      ? {}
      : { event: (told, urlOf) => shown("its event", () => event(told, urlOf), { type: told.type }) })
  }
}

/** A fault of the host's program, told when the routes are made. */
const withoutClashes = (added: ReadonlyArray<Wing>): ReadonlyArray<Wing> => {
  const taken = new Set(ownWings.map(({ part }) => `part ${part}`))
  for (const { message, part } of added) {
    const fields = Object.keys(message?.own ?? {})
    const known = fields.find((field) => field in StatelessMessageBody.fields)
    if (known !== undefined) throw new Error(`Messages of the API have the field "${known}" already. Rename yours.`)
    const names = [`part ${part}`, ...fields.map((field) => `field "${field}"`)]
    const twice = names.find((name) => taken.has(name))
    if (twice !== undefined) throw new Error(`Two wings have the ${twice} of messages. Rename one.`)
    for (const name of names) taken.add(name)
  }
  return added
}

export const makeWings = (wings: ReadonlyArray<Wing>, urlOf: UrlOf): typeof Wings.Service => {
  const byPart = new Map(wings.map((wing) => [wing.part, wing]))
  const concerning = new Set(wings.flatMap(({ message }) => message?.concerns ?? []))
  const mayBeIgnored = new Set([...concerning, ...wings.flatMap(({ message }) => message?.details?.fields ?? [])])
  const showing = wings.flatMap(({ fields, part }) => (fields === undefined ? [] : [{ fields, part }]))
  const speaking = wings.flatMap(({ message, part }) => (message === undefined ? [] : [{ message, part }]))

  /** Decoded fields are those of the API; the fields that the host's wings brought stand in the body as it was sent. */
  const brought = wings.flatMap(({ message }) => Object.keys(message?.own ?? {}))
  const withOwnFields = (fields: MessageFields, sent: unknown): RawFields =>
    brought.length > 0 && isRecord(sent)
      ? {
          ...Object.fromEntries(brought.flatMap((name) => (name in sent ? [[name, sent[name]] as const] : []))),
          ...fields
        }
      : fields

  /** Most messages are a text alone, and no wing has to look at those. */
  const isPlain = (fields: object, { files }: Pick<RawBody, "files">): boolean =>
    files.length === 0 && !Object.keys(fields).some((name) => concerning.has(name))

  return {
    problems: (fields, raw, installed) => {
      if (isPlain(fields, raw)) return []
      return speaking.flatMap(({ message, part }) => {
        const absent = installed.has(part) ? [] : message.asked(fields)
        return [
          ...(message.problems?.(fields, raw, installed) ?? []),
          ...absent.map(({ path, title }) => notAvailable(path, title))
        ]
      })
    },

    options: (fields, raw) => {
      const sent = withOwnFields(fields, raw.value)
      if (isPlain(sent, raw)) return undefined
      const asked = speaking.flatMap(({ message, part }) =>
        message.asked(sent).length === 0 ? [] : [[part, message.options(fields, raw)] as const]
      )
      return asked.length === 0 ? undefined : Object.fromEntries(asked)
    },

    named: (body) => {
      if (!isRecord(body)) return []
      const named = ({ message }: (typeof speaking)[number]) =>
        [...message.concerns, ...(message.details?.fields ?? [])].some((field) => !isBlank(body[field]))
      return speaking.filter(named).map(({ part }) => part)
    },

    ignored: (fields, isOnlySaved) => {
      if (!Object.keys(fields).some((name) => mayBeIgnored.has(name))) return []
      return speaking.flatMap(({ message }) => {
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
    },

    bodyPath: pathAmong(byPart),

    event: (event) => {
      const encode = byPart.get(event.part)?.event
      if (encode !== undefined) return encode(event, urlOf)
      return Object.assign({}, isJsonObject(event.data) ? event.data : { data: event.data }, { type: event.type })
    },

    fields: (answer, userMessage, completedRun) => {
      if (!hasFields(answer) && !hasFields(userMessage)) return nothing
      let all: Partial<PartFields> = {}
      for (const { fields, part } of showing) {
        const kept = { answer: answer[part] ?? null, userMessage: userMessage[part] ?? null, completedRun }
        if (kept.answer === null && kept.userMessage === null) continue
        const found = fields(kept, urlOf)
        const media = [...(all.generated_media ?? []), ...(found.generated_media ?? [])]
        const added = { ...all.added, ...found.added }
        all = { ...all, ...found, added, ...(media.length === 0 ? {} : { generated_media: media }) }
      }
      return all
    }
  }
}

const pathAmong =
  (wings: ReadonlyMap<string, Wing>): BodyPath =>
  (part, path) => {
    const bodyPath = wings.get(part)?.message?.bodyPath
    if (bodyPath !== undefined) return bodyPath(path)
    return path.length === 0 ? [part] : path
  }

/** For refusals of the kernel's own parts alone. */
export const ownBodyPath = pathAmong(new Map(ownWings.map((wing) => [wing.part, wing])))

const isJsonObject = Schema.is(Schema.JsonObject)

const nothing: Partial<PartFields> = {}

const hasFields = (record: object): boolean => {
  for (const _ in record) return true
  return false
}

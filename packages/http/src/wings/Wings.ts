/**
 * The wings of one server: those of the kernel's own rooms, and those that the host registered. Work that concerns more than one wing is
 * done here, once: the fields of a message that are for parts, and the form of supplements and events on the wire.
 */
import type { TurnRequest } from "@colloquy/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type Installed, isBlank, notAvailable, type RawFields } from "../bodies/RawFields.ts"
import type { RawBody } from "../bodies/RequestBody.ts"
import { Links, type UrlOf } from "../links/Links.ts"
import type { ValidationError } from "../wire/Errors.ts"
import type { BodyPath } from "../wire/ErrorStatus.ts"
import { isRecord } from "../wire/Json.ts"
import { MessageBody, StatelessMessageBody } from "../wire/MessageBody.ts"
import { MessageResponse, StoredMessage } from "../wire/Records.ts"
import { StreamEvent } from "../wire/StreamEvents.ts"
import { answersWing } from "./AnswersWing.ts"
import { citationsWing } from "./CitationsWing.ts"
import { documentsWing } from "./DocumentsWing.ts"
import { helpersWing } from "./HelpersWing.ts"
import { imageWing, videoWing } from "./MediaWings.ts"
import { memoryWing } from "./MemoryWing.ts"
import { plainEvent } from "./PlainEvent.ts"
import { outputWing } from "./OutputWing.ts"
import { searchWing } from "./SearchWing.ts"
import { voiceWing } from "./VoiceWing.ts"
import type { MessageFields, OwnFields, PartFields, PartTold, Wing, WingEndpoints } from "./Wing.ts"

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
    /** The problems of all fields that are for parts, and of fields that ask for a part which the kernel does not have. */
    readonly problems: (fields: RawFields, raw: RawBody, installed: Installed) => ReadonlyArray<ValidationError>
    /** `TurnRequest.options`; undefined when the message asks nothing of any part. */
    readonly options: (fields: MessageFields, raw: RawBody) => Schema.JsonObject | undefined
    /** The fields of messages that the host's wings brought. */
    readonly brought: ReadonlyArray<string>
    /** The parts that a field of the body is for, also one that says `off`. */
    readonly named: (body: unknown) => ReadonlyArray<string>
    /** Fields of wings that have no effect in this message, each with the reason. */
    readonly ignored: (fields: RawFields, isOnlySaved: boolean) => ReadonlyArray<IgnoredOption>
    /** The field of the message that a refusal of this part is about. */
    readonly bodyPath: BodyPath
    /** An event of a part as it goes out, without the fields that all events have. Null: it does not go out. */
    readonly event: (event: PartTold) => Schema.JsonObject | null
    /**
     * The supplements of an answer and of its question, as fields of the wire. Media of all parts are one list. `completedRun` is the run
     * of the message when it has completed, null otherwise.
     */
    readonly fields: (answer: Supplements, userMessage: Supplements, completedRun: string | null) => Partial<PartFields>
  }
>()("@colloquy/http/Wings") {
  /** `added` are the host's. `reflect` names the endpoints of the API. */
  static readonly layer = (added: ReadonlyArray<Wing>, reflect: Reflect): Layer.Layer<Wings, never, Links> =>
    Layer.effect(
      Wings,
      Effect.gen(function* () {
        const { url } = yield* Links
        const context = yield* Effect.context<never>()
        const tell: TellFault = (...said) => void Effect.runForkWith(context)(Effect.logError(...said))
        const wings = withoutClashes(added, reflect).map((wing) => shielded(wing, tell))
        return makeWings([...ownWings, ...wings], url, tell)
      })
    )
}

type TellFault = (...said: ReadonlyArray<unknown>) => void

/**
 * A host's wing adds fields and events, and replaces none of the API. If its code fails, or gives a value that is no JSON or does not fit
 * its schema, the value is left out, with a line in the server's log, so that the conversation can still be read. Events with a type of the
 * API are left out too: readers would take them for reviewed events of the kernel.
 */
const shielded = (wing: Wing, tell: TellFault): Wing => {
  const { event = plainEvent, fields, part, schemas = {} } = wing
  const tellWhat = (what: string, ...fault: ReadonlyArray<unknown>) => tell(notShown(part, what), ...fault)
  const shown = <A>(what: string, show: () => A, instead: A): A => {
    try {
      return show()
    } catch (fault) {
      tellWhat(what, fault)
      return instead
    }
  }
  const replies = makeReaders(schemas.fields)
  const events = new Map(Object.entries(schemas.events ?? {}).map(([type, own]) => [type, makeReaders(own)]))
  /** The line in the log does not tell the value: it may be of a conversation. */
  const fitting = (values: Schema.JsonObject, readers: Readers | undefined, taken = {}): Schema.JsonObject =>
    Object.fromEntries(
      Object.entries(values).filter(([name, value]) => {
        const fault = Object.hasOwn(taken, name)
          ? "the API has a field of this name"
          : !isWritable(value)
            ? "it is no JSON"
            : Option.isNone(readers?.get(name)?.(value) ?? Option.some(value))
              ? "it does not fit its schema"
              : null
        if (fault !== null) tellWhat(`"${name}": ${fault}`)
        return fault === null
      })
    )
  return {
    ...wing,
    fields: (kept, urlOf) => ({
      added: shown("its fields", () => fitting(fields?.(kept, urlOf).added ?? {}, replies, fieldsOfReplies), {})
    }),
    event: (told, urlOf) => {
      const eventType = ({ type }: Schema.JsonObject) => (typeof type === "string" ? type : told.type)
      const read = () => {
        const found = event(told, urlOf)
        return found && fitting(found, events.get(eventType(found)))
      }
      const found = shown("its event", read, {})
      return found ? Object.assign({}, found, { type: eventType(found) }) : null
    }
  }
}

const notShown = (part: string, what: string): string => `The wing of the part "${part}" could not show ${what}`

/** Whether a value can be written as JSON: no cycle, BigInt, function or undefined. */
const isWritable = (value: unknown): boolean => {
  try {
    return typeof JSON.stringify(value) === "string"
  } catch {
    return false
  }
}

/** Reads the JSON of each field; none: it does not fit. */
type Readers = ReadonlyMap<string, (value: unknown) => Option.Option<unknown>>

const makeReaders = (own: OwnFields = {}): Readers =>
  new Map(Object.entries(own).map(([name, schema]) => [name, Schema.decodeUnknownOption(Schema.toCodecJson(schema))]))

/** The kinds of names that only one wing may use. */
interface Brought {
  readonly part: string
  readonly message?: { readonly own?: object }
  readonly schemas?: { readonly fields?: object; readonly events?: object }
  readonly endpoints?: { readonly reflect?: Reflect }
}

type Reflect = NonNullable<WingEndpoints["reflect"]>

/** The endpoints as a router compares them: the names of parameters in a path make no difference. */
const endpointNames = ({ reflect }: NonNullable<Brought["endpoints"]> = {}): object => {
  const found: Record<string, true> = {}
  reflect?.(({ method, path }) => (found[`${method} ${path.replaceAll(/:\w+/gu, ":")}`] = true))
  return found
}

const eventsOfApi: ReadonlySet<string> = new Set(StreamEvent.members.map(({ fields }) => fields.type.literal))
/** Events of the API that parts tell; all others are told by the kernel alone. */
const eventsOfParts = /^(?:handed|helper|media|memory|output|stt|tts)_/u

/** The fields of replies and of stored messages; the event that ends a run has two more. */
const fieldsOfReplies: object = { ...MessageResponse.fields, ...StoredMessage.fields, type: 0, sequence: 0 }

/** The API without its wings, in the same form. */
const api = (reflect: Reflect): Brought => ({
  part: "API",
  message: { own: { ...MessageBody.fields, ...StatelessMessageBody.fields } },
  schemas: {
    fields: fieldsOfReplies,
    events: Object.fromEntries([...eventsOfApi].map((type) => [type, {}]))
  },
  endpoints: { reflect }
})

/** Throws when a host's wing takes a name that is in use: a fault of the host's program, found when the routes are made. */
const withoutClashes = (added: ReadonlyArray<Wing>, reflect: Reflect): ReadonlyArray<Wing> => {
  const taken = new Set<string>()
  for (const { endpoints, message, part, schemas } of [...ownWings, api(reflect), ...added]) {
    const names = (kind: string, of: object = {}) => Object.keys(of).map((name) => `the ${kind} "${name}"`)
    for (const name of [
      ...names("part", { [part]: part }),
      ...names("field of messages", message?.own),
      ...names("field of replies", schemas?.fields),
      ...names("event", schemas?.events),
      ...names("endpoint", endpointNames(endpoints))
    ]) {
      if (taken.has(name))
        throw new Error(`The wing of the part "${part}" brings ${name}, which is there already. Rename yours.`)
      taken.add(name)
    }
  }
  return added
}

/** Makes the wings of a server. `tell` logs what a wing could not show. */
export const makeWings = (wings: ReadonlyArray<Wing>, urlOf: UrlOf, tell: TellFault): typeof Wings.Service => {
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
          ...Object.fromEntries(
            brought.flatMap((name) => (Object.hasOwn(sent, name) ? [[name, sent[name]] as const] : []))
          ),
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

    brought,

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
      const { part } = event
      const wing = byPart.get(part) ?? shielded({ part }, tell)
      byPart.set(part, wing)
      const found = (wing.event ?? plainEvent)(event, urlOf)
      const type = found?.["type"]
      // A host's part may have the name of a part of ours that is not there.
      if (typeof type !== "string" || !eventsOfApi.has(type) || (ownWings.includes(wing) && eventsOfParts.test(type)))
        return found
      tell(notShown(part, `its event "${type}": the API has an event of this name`))
      return null
    },

    fields: (answer, userMessage, completedRun) => {
      if (!hasFields(answer) && !hasFields(userMessage)) return {}
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

/** The field names for refusals of the kernel's own parts alone. */
export const ownBodyPath = pathAmong(new Map(ownWings.map((wing) => [wing.part, wing])))

const hasFields = (record: object): boolean => {
  for (const _ in record) return true
  return false
}

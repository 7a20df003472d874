/**
 * Identifiers: one brand per record, so that a thread id cannot be passed for a run id.
 *
 * New ids are UUIDs of version 7: 74 random bits from the platform's secure source (they cannot be guessed), and a leading timestamp
 * (records of one time are neighbours in an index). Tests replace the source through `IdSource`.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"

/** Names the user to whom data belongs, as the host knows them. */
export const OwnerId = Schema.NonEmptyString.pipe(Schema.brand("OwnerId"))
export type OwnerId = typeof OwnerId.Type

/** The id of an assistant, as a type of its own: the id of a thread in its place does not compile. */
export const AssistantId = Schema.NonEmptyString.pipe(Schema.brand("AssistantId"))
export type AssistantId = typeof AssistantId.Type

/** The id of a conversation. `ThreadId.make(text)` makes one of a text that you have stored. */
export const ThreadId = Schema.NonEmptyString.pipe(Schema.brand("ThreadId"))
export type ThreadId = typeof ThreadId.Type

/** The id of a stored message: of a question, or of one of its answers. */
export const MessageId = Schema.NonEmptyString.pipe(Schema.brand("MessageId"))
export type MessageId = typeof MessageId.Type

/** The id of the work on one message. `cancel`, `follow` and `report` take it. */
export const RunId = Schema.NonEmptyString.pipe(Schema.brand("RunId"))
export type RunId = typeof RunId.Type

/** The id of stored background work, which `FollowUps.revive` takes. */
export const FollowUpId = Schema.NonEmptyString.pipe(Schema.brand("FollowUpId"))
export type FollowUpId = typeof FollowUpId.Type

/** Names an API key without telling it. */
export const KeyId = Schema.NonEmptyString.pipe(Schema.brand("KeyId"))
export type KeyId = typeof KeyId.Type

/** The id of the removal of the data of an owner, by which its progress is asked for. */
export const ErasureId = Schema.NonEmptyString.pipe(Schema.brand("ErasureId"))
export type ErasureId = typeof ErasureId.Type

/** Names an entry of the audit log. */
export const AuditEntryId = Schema.NonEmptyString.pipe(Schema.brand("AuditEntryId"))
export type AuditEntryId = typeof AuditEntryId.Type

/** The id of one cost. The same id is never counted twice. */
export const ChargeId = Schema.NonEmptyString.pipe(Schema.brand("ChargeId"))
export type ChargeId = typeof ChargeId.Type

/** The id of a scheduled message, which its runs tell as `scheduleId`. */
export const ScheduleId = Schema.NonEmptyString.pipe(Schema.brand("ScheduleId"))
export type ScheduleId = typeof ScheduleId.Type

/** The id of a question that an experiment asks. */
export const CaseId = Schema.NonEmptyString.pipe(Schema.brand("CaseId"))
export type CaseId = typeof CaseId.Type

/** The id of an experiment, under which its results are read. */
export const ExperimentId = Schema.NonEmptyString.pipe(Schema.brand("ExperimentId"))
export type ExperimentId = typeof ExperimentId.Type

/** The id of an address that events are sent to. */
export const WebhookId = Schema.NonEmptyString.pipe(Schema.brand("WebhookId"))
export type WebhookId = typeof WebhookId.Type

/** Names a delivery of a webhook. */
export const DeliveryId = Schema.NonEmptyString.pipe(Schema.brand("DeliveryId"))
export type DeliveryId = typeof DeliveryId.Type

/** The id of an uploaded or generated file, which `attachments` of a message takes. */
export const DocumentId = Schema.NonEmptyString.pipe(Schema.brand("DocumentId"))
export type DocumentId = typeof DocumentId.Type

/** Names the bytes of a file. */
export const BlobId = Schema.NonEmptyString.pipe(Schema.brand("BlobId"))
export type BlobId = typeof BlobId.Type

/** Where new ids come from. */
export const IdSource = Context.Reference<(nowMillis: number) => string>("@colloquy/core/primitives/IdSource", {
  defaultValue: () => uuidVersion7
})

export type NewIds = <Id>(brand: Brand<Id>) => Id

/** Allocates new ids, for what needs several of them. */
export const newIds: Effect.Effect<NewIds> = Effect.withFiberSucceed((fiber) => idsOfFiber(fiber))

/** The same, where the fiber is at hand. */
export const idsOfFiber = (fiber: Fiber.Fiber<unknown, unknown>): NewIds => {
  const [source, clock] = [fiber.getRef(IdSource), fiber.getRef(Clock.Clock)]
  return (brand) => {
    const value = source(clock.currentTimeMillisUnsafe())
    // The brand's own check does the same and takes ten times as long.
    return brand.make(value, { disableChecks: value !== "" })
  }
}

/** Allocates a new id of the given brand: `newId(ThreadId)`. */
export const newId = <Id>(brand: Brand<Id>): Effect.Effect<Id> => Effect.map(newIds, (allocate) => allocate(brand))

interface Brand<Id> {
  readonly make: (value: string, options: { readonly disableChecks: boolean }) => Id
}

/** The first 48 bits are the time; the rest is random. */
const uuidVersion7 = (nowMillis: number): string =>
  `${timeText(nowMillis)}-7${globalThis.crypto.randomUUID().slice(15)}`

/** Several ids are made in one millisecond, and writing the time takes longer than the rest. */
let written = { millis: 0, text: "00000000-0000" }

const timeText = (millis: number): string => {
  if (written.millis !== millis) {
    const time = millis.toString(16).padStart(12, "0")
    written = { millis, text: `${time.slice(0, 8)}-${time.slice(8)}` }
  }
  return written.text
}

/**
 * What a turn keeps with its answer about the videos that it ordered: which it has charged, so that a process that continues one does not
 * charge it again, and which have no file.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { chargeOfCost } from "../metering/Charge.ts"
import type { HostedCall } from "../tools/HostedTool.ts"
import type { OrderedJob } from "./VideoClip.ts"

/** The purpose of charges for videos in the ledger. */
export const videoPurpose = "video"

const Billed = Schema.Struct({ billed: Schema.Array(Schema.String) })
const decodeBilled = Schema.decodeUnknownOption(Billed)

/** The jobs whose file will not be accepted however often it is fetched. */
const Lost = Schema.Struct({ lost: Schema.Array(Schema.String) })
const decodeLost = Schema.decodeUnknownOption(Lost)

export const lostIn = (kept: Schema.Json | null | undefined): ReadonlyArray<string> =>
  Option.match(decodeLost(kept), { onNone: () => [], onSome: ({ lost }) => lost })

export const keepLost = (jobId: string, call: HostedCall): void => {
  const kept = call.kept()
  call.keep(Object.assign({}, isObject(kept) ? kept : {}, { lost: [...lostIn(kept), jobId] }))
}

export const billedIn = (kept: Schema.Json | null | undefined): ReadonlyArray<string> =>
  Option.match(decodeBilled(kept), { onNone: () => [], onSome: ({ billed }) => billed })

const isObject = Schema.is(Schema.JsonObject)

/** The note is written before the charge: if the log ends between the two, a charge is missing, but none is counted twice. */
export const charge = ({ account, job }: OrderedJob, call: HostedCall): void => {
  const kept = call.kept()
  call.keep(Object.assign({}, isObject(kept) ? kept : {}, { billed: [...billedIn(kept), job.id] }))
  call.spend(chargeOfCost({ provider: account.provider, model: account.model, purpose: videoPurpose }, job.costUsd))
}

/** The part of turns that answers tools of the server from the record of a case, so that an attempt changes nothing in the world. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { searchToolName } from "../documents/ExcerptOptions.ts"
import { CaseId } from "../primitives/Ids.ts"
import type { HostedTool } from "../tools/HostedTool.ts"
import { HostedToolFailed } from "../tools/HostedTool.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import type { TurnPart } from "../turns/TurnPart.ts"
import type { EvalStore } from "./EvalStore.ts"
import { recordedOutputs } from "./Recorded.ts"

export const recordedPartName = "evals"

const Plan = Schema.Struct({
  caseId: CaseId,
  /** True: the documents are searched, because that is what is compared. A search changes nothing. */
  searches: Schema.optionalKey(Schema.Boolean)
})
const readPlan = Schema.decodeUnknownOption(Plan)

type Store = Pick<typeof EvalStore.Service, "getCase">

/** The results of a case that one tool has not given yet; null: they are not read yet. */
interface CaseRecord {
  readonly caseId: CaseId
  outputs: ReturnType<typeof recordedOutputs> | null
}

const recordedOutput = Effect.fnUntraced(
  function* (store: Store, record: CaseRecord, call: ToolCall) {
    const found = Option.getOrUndefined(yield* store.getCase(record.caseId))
    record.outputs ??= recordedOutputs(found?.tools ?? [])
    const outputs = record.outputs({ status: "REQUIRES_ACTION", toolCalls: [call] })
    return outputs?.[0]?.output ?? (yield* new HostedToolFailed({ message: "the record has no result of this call." }))
  },
  Effect.catchTag("StoreUnavailable", () =>
    Effect.fail(new HostedToolFailed({ message: "the record could not be read." }))
  )
)

/** No person is asked about a call that does nothing. */
const recordedTool = (store: Store, caseId: CaseId, { definition }: HostedTool): HostedTool => {
  const record: CaseRecord = { caseId, outputs: null }
  return {
    definition,
    run: (args, { toolCallId: id }) =>
      recordedOutput(store, record, { id, name: definition.name, arguments: JSON.stringify(args) })
  }
}

export const recordedPart = (store: typeof EvalStore.Service): TurnPart<typeof Plan.Type> => ({
  name: recordedPartName,
  plan: Plan,
  concerns: ({ options }) => options !== undefined,
  decide: ({ options }) => Effect.succeed(Option.getOrNull(Option.map(readPlan(options), (plan) => ({ plan })))),
  replaceTool: ({ caseId, searches = false }, tool) =>
    tool.staysInTurn === true || (searches && tool.definition.name === searchToolName)
      ? tool
      : recordedTool(store, caseId, tool)
})

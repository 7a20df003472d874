/** Approvals as promises: which calls wait for a person, and what the person decides. */
import * as Schema from "effect/Schema"
import { RunId, ThreadId } from "../primitives/Ids.ts"
import type { Page } from "../primitives/Page.ts"
import type { CallDecision } from "../tools/ToolRoundTrip.ts"
import type { DecisionsRequest } from "../turns/TurnRequest.ts"
import type { Turns } from "../turns/TurnUseCases.ts"
import type { WaitingCall } from "../turns/WaitingCalls.ts"
import type { CallOptions, Calls } from "./Calls.ts"
import { readId } from "./PlainIds.ts"
import { readPage } from "./PlainPages.ts"
import { orThrow, type Reply } from "./Reply.ts"
import type { NoRooms, RoomTypes } from "./Room.ts"
import type { OpenTurn, SendOptions, TurnOptions } from "./TurnOptions.ts"

/** A call that waits, with its arguments as the model wrote them, as a value. */
export interface PendingCall extends Omit<WaitingCall, "arguments"> {
  readonly arguments: Schema.JsonObject
}

/** An entry of `list`, a call of a reply, or the id of one. Thread and run are looked up where they are missing. */
export type CallOrId =
  | string
  | { readonly id: string; readonly threadId?: string | undefined; readonly runId?: string | undefined }

/** No call of this id waits, or several of different runs do. */
export class CallNotFound extends Schema.TaggedError<CallNotFound>()("CallNotFound", {
  toolCallId: Schema.String,
  found: Schema.Int
}) {
  override get message() {
    return this.found === 0
      ? `No call ${this.toolCallId} waits for an approval. To repeat a decision, name its thread and run: { id, threadId, runId }.`
      : `${this.found} calls with the id ${this.toolCallId} wait. Name the thread and the run: { id, threadId, runId }.`
  }
}

export interface Approving {
  /** The call runs with these instead of the model's. */
  readonly arguments?: Schema.JsonObject | undefined
}

export interface Rejecting {
  /** The model reads it. */
  readonly reason?: string | undefined
}

/** Decides about one call. With `stream` it gives the turn that goes on, otherwise its reply. */
interface Decide<Options, Types extends RoomTypes> {
  (call: CallOrId, given: Options & TurnOptions & { readonly stream: true }): Promise<OpenTurn<Types>>
  (call: CallOrId, given?: Options & SendOptions & { readonly stream?: false }): Promise<Reply & Types["reply"]>
}

/** `DecisionsRequest` with ids as plain text. */
export interface DecideRequest extends Omit<DecisionsRequest, "threadId" | "runId"> {
  readonly threadId: string
  readonly runId: string
}

export interface ApprovalCalls<Types extends RoomTypes = NoRooms> {
  /** The calls that wait, on all threads, those of the newest runs first. */
  readonly list: (page?: Partial<Page>, options?: CallOptions) => Promise<ReadonlyArray<PendingCall>>
  /**
   * Runs the call and goes on with its run; any process may do this. For a call inside of a helper, the run of the helper and the run above it
   * both go on, and the reply is that of the run above. While other calls of the run are open, the status of the reply is
   * `REQUIRES_ACTION`, with these calls. The first decision about a call stands: another one rejects with `AlreadyDecided`.
   */
  readonly approve: Decide<Approving, Types>
  readonly reject: Decide<Rejecting, Types>
  /** Several decisions about one run at once. */
  readonly decide: (request: DecideRequest, options?: TurnOptions) => Promise<OpenTurn<Types>>
}

type Begin = (request: DecisionsRequest, options: TurnOptions) => Promise<OpenTurn>

export const approvalCalls = <Services>(
  calls: Calls<Services | Turns>,
  turns: typeof Turns.Service,
  bound: CallOptions,
  begin: Begin
): ApprovalCalls => {
  const list: ApprovalCalls["list"] = async (page = {}, options) =>
    (await calls.run(() => turns.approvals(readPage(page)), { ...bound, ...options })).map((call) => ({
      ...call,
      arguments: readArguments(call.arguments)
    }))

  const findCall = async (call: CallOrId, options: CallOptions) => {
    const { id, runId, threadId } =
      typeof call === "string" ? { id: call, runId: undefined, threadId: undefined } : call
    if (threadId !== undefined && runId !== undefined) return { id, runId, threadId }
    const waiting = await list({ limit: longestSearch }, options)
    const found = waiting.filter((each) => each.id === id && (runId ?? each.runId) === each.runId)
    const [only] = found
    if (only === undefined || found.length > 1) throw new CallNotFound({ toolCallId: id, found: found.length })
    return only.above === null ? only : { id, ...only.above }
  }

  const decideOne = async (
    call: CallOrId,
    decision: Omit<CallDecision, "toolCallId">,
    { stream, ...given }: SendOptions & { readonly stream?: boolean }
  ) => {
    const options = { ...bound, ...given }
    const { id, runId, threadId } = await findCall(call, options)
    const request = {
      threadId: readId(ThreadId, threadId),
      runId: readId(RunId, runId),
      decisions: [{ toolCallId: id, ...decision }],
      stream: stream === true
    }
    const turn = await begin(request, options)
    if (stream === true) return turn
    const reply = await turn.reply()
    return given.throw === true ? orThrow(reply) : reply
  }

  const approve = (
    call: CallOrId,
    { arguments: args, ...options }: Approving & SendOptions & { readonly stream?: boolean } = {}
  ) => decideOne(call, { decision: "approve", ...(args === undefined ? {} : { arguments: args }) }, options)

  const reject = (
    call: CallOrId,
    { reason, ...options }: Rejecting & SendOptions & { readonly stream?: boolean } = {}
  ) => decideOne(call, { decision: "reject", ...(reason === undefined ? {} : { reason }) }, options)

  return {
    list,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `stream` decides what `decideOne` gives
    approve: approve as ApprovalCalls["approve"],
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
    reject: reject as ApprovalCalls["reject"],
    decide: async ({ runId, threadId, ...request }, options) =>
      begin({ ...request, threadId: readId(ThreadId, threadId), runId: readId(RunId, runId) }, { ...bound, ...options })
  }
}

/** How many waiting calls are looked at for an id. */
const longestSearch = 1000

/** The kernel asks about no call whose arguments are not an object. */
const readArguments = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.JsonObject))

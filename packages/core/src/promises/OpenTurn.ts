/**
 * Turns as promises and async iterables. A turn belongs to the kernel: a caller that leaves (a `break`, an aborted signal) only stops
 * waiting, unless the caller sets `onLeave: "cancel"`.
 */
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import { RunId, ThreadId } from "../primitives/Ids.ts"
import type { Inbox } from "../runs/Inbox.ts"
import type { Run } from "../runs/Run.ts"
import type { StartedTurn } from "../turns/StartedTurn.ts"
import { isTerminal, type TurnEvent } from "../turns/TurnEvent.ts"
import { type RunReport, Turns } from "../turns/TurnUseCases.ts"
import { type ApprovalCalls, approvalCalls } from "./ApprovalCalls.ts"
import { type CallOptions, type Calls, unlessLeft, type Watch, watchSignal } from "./Calls.ts"
import { readable, type Source } from "./EventReader.ts"
import { readId } from "./PlainIds.ts"
import { readCount } from "./PlainPages.ts"
import {
  type GoodOutputReply,
  type OutputOf,
  type OutputReply,
  type OutputSchema,
  readOutput,
  type ReadOutput,
  type WantedOutput
} from "./Output.ts"
import { type GoodReply, orThrow, type Reply } from "./Reply.ts"
import { type RunCalls, runCalls } from "./OpenRuns.ts"
import type { JoinedRooms } from "./JoinedRooms.ts"
import {
  type AgainRequest,
  type EditRequest,
  readInstead,
  type FollowRequest,
  outputsRequest,
  type OutputsRequest,
  type RunIds,
  type SendRequest
} from "./Requests.ts"
import type { NoRooms, RoomTypes } from "./Room.ts"
import type { OpenTurn, SendOptions, TurnOptions } from "./TurnOptions.ts"

/** A message whose answer is to be an object. */
type Asking<Types extends RoomTypes, Wanted> = SendRequest & Types["request"] & WantedOutput<Wanted>

/** A run that nobody waits for. */
export interface BackgroundRun {
  readonly threadId: ThreadId
  readonly runId: RunId
  readonly status: Run["status"]
}

/** A turn as a promise or as a stream of its events. */
export interface TurnCalls<Types extends RoomTypes = NoRooms> {
  /** Begins a turn. When this resolves, the message and the run are stored. */
  readonly start: {
    <Wanted extends OutputSchema>(
      request: Asking<Types, Wanted>,
      options?: TurnOptions
    ): Promise<OpenTurn<Types, OutputReply<OutputOf<Wanted>>>>
    (request: SendRequest & Types["request"], options?: TurnOptions): Promise<OpenTurn<Types>>
  }
  /**
   * Begins a turn and waits for its reply. Its `content` is what the model said, also if the run failed. With `output` the reply has the
   * object that the model wrote: `output`, which fits the schema when the status is `COMPLETED`, and is null otherwise. With
   * `background: true` it waits for nothing: the run goes on, and is found in `runs.list` and `runs.events`.
   */
  readonly send: {
    <Wanted extends OutputSchema>(
      request: Asking<Types, Wanted>,
      options: SendOptions & { readonly throw: true }
    ): Promise<GoodOutputReply<OutputOf<Wanted>> & Types["reply"]>
    <Wanted extends OutputSchema>(
      request: Asking<Types, Wanted>,
      options?: SendOptions
    ): Promise<OutputReply<OutputOf<Wanted>> & Types["reply"]>
    (
      request: SendRequest & Types["request"],
      options: SendOptions & { readonly throw: true }
    ): Promise<GoodReply & Types["reply"]>
    (
      request: SendRequest & Types["request"] & { readonly background: true },
      options?: TurnOptions
    ): Promise<BackgroundRun>
    (request: SendRequest & Types["request"], options?: SendOptions): Promise<Reply & Types["reply"]>
  }
  /** Begins a turn with the first step of the loop and returns its events live. Each loop begins a new turn. */
  readonly stream: (
    request: SendRequest & Types["request"] & Partial<WantedOutput<OutputSchema>>,
    options?: TurnOptions
  ) => AsyncIterable<TurnEvent | Types["event"]>
  /**
   * Begins a turn that sends a question again, in place of it and of everything after it, with the options of the first time.
   * `reply.keptAs` is the thread that has the conversation as it was.
   */
  readonly regenerate: (
    request: AgainRequest & Omit<Types["request"], "content">,
    options?: TurnOptions
  ) => Promise<OpenTurn<Types>>
  /** The same with another text. */
  readonly edit: (
    request: EditRequest & Omit<Types["request"], "content">,
    options?: TurnOptions
  ) => Promise<OpenTurn<Types>>
  /** Resumes a run that waits for the outputs of the client's tools. */
  readonly submitToolOutputs: (request: OutputsRequest, options?: TurnOptions) => Promise<OpenTurn<Types>>
  /** Calls of tools with `needsApproval`: those that wait, and what a person decides about them. */
  readonly approvals: ApprovalCalls<Types>
  /** Ends a run; the text so far is kept. An ended run stays as it is. */
  readonly cancel: (run: RunIds, options?: CallOptions) => Promise<Run>
  /** The events of a run up to the next terminal event, also when another process works on it. */
  readonly follow: (request: FollowRequest, options?: CallOptions) => AsyncIterable<TurnEvent | Types["event"]>
  readonly runs: RunCalls
  /** The run, its ignored options, and the explanation of its last prompt. */
  readonly report: (run: RunIds, options?: CallOptions) => Promise<RunReport>
}

export const turnCalls = <Services>(
  calls: Calls<Services | Turns | Inbox>,
  rooms: JoinedRooms,
  bound: CallOptions
): TurnCalls => {
  const turns = calls.service(Turns)
  const shown = { show: rooms.show, isLast: isTerminal }

  const cancel: TurnCalls["cancel"] = ({ runId, threadId }, options) =>
    calls.run(() => turns.cancel(readId(ThreadId, threadId), readId(RunId, runId)), { ...bound, ...options })

  /** Runs when the caller of a turn leaves. The signal is not passed on: it is aborted already and would end the cancel. */
  const leaver = (options: TurnOptions) => async (run: RunIds) => {
    if (options.onLeave === "cancel") await cancel(run, { owner: options.owner })
  }

  const begin = async <E>(effect: () => Effect.Effect<StartedTurn, E, Principal>, options: TurnOptions) => {
    options.signal?.throwIfAborted()
    // The signal is not passed on: a turn that is being stored must become known, so that it can be cancelled.
    const started = calls.run(effect, { owner: options.owner })
    const leave = leaver(options)
    return unlessLeft(started, watching(options), async () => {
      if (options.onLeave === "cancel") await started.then(leave, () => {})
    })
  }

  const turnSource = (turn: StartedTurn, options: TurnOptions): Source<TurnEvent> => ({
    events: turn.events,
    watch: watching(options),
    leave: () => leaver(options)(turn)
  })

  const opened = (turn: StartedTurn, options: TurnOptions, finish?: ReadOutput["finish"]): OpenTurn => ({
    threadId: turn.threadId,
    assistantId: turn.assistantId,
    runId: turn.runId,
    events: readable(calls, shown, async () => turnSource(turn, options)),
    reply: async () => {
      const reply = await unlessLeft(
        calls.runToItsEnd(() => Effect.flatMap(turn.reply, rooms.reply), options),
        watching(options),
        () => leaver(options)(turn)
      )
      return finish === undefined ? reply : finish(reply)
    }
  })

  const startTurn = (request: SendRequest) => rooms.begin(request, turns.start)

  /** All forms of `start` are this function. */
  async function start<Wanted extends OutputSchema>(
    asked: Asking<NoRooms, Wanted>,
    options?: TurnOptions
  ): Promise<OpenTurn<NoRooms, OutputReply<OutputOf<Wanted>>>>
  async function start(asked: SendRequest, options?: TurnOptions): Promise<OpenTurn>
  async function start(asked: SendRequest, given?: TurnOptions): Promise<OpenTurn> {
    const options = { ...bound, ...given }
    const { finish, request } = readOutput(asked)
    return opened(await begin(() => startTurn(request), options), options, finish)
  }

  /** All forms of `send` are this function. */
  async function send<Wanted extends OutputSchema>(
    request: Asking<NoRooms, Wanted>,
    options: SendOptions & { readonly throw: true }
  ): Promise<GoodOutputReply<OutputOf<Wanted>>>
  async function send<Wanted extends OutputSchema>(
    request: Asking<NoRooms, Wanted>,
    options?: SendOptions
  ): Promise<OutputReply<OutputOf<Wanted>>>
  async function send(request: SendRequest, options: SendOptions & { readonly throw: true }): Promise<GoodReply>
  async function send(
    request: SendRequest & { readonly background: true },
    options?: TurnOptions
  ): Promise<BackgroundRun>
  async function send(request: SendRequest, options?: SendOptions): Promise<Reply>
  async function send(
    { background = false, ...request }: SendRequest,
    options: SendOptions = {}
  ): Promise<Reply | BackgroundRun> {
    const turn = await start({ ...request, stream: false, background }, options)
    if (background) {
      const { runId, threadId } = turn
      const { run } = await calls.run(() => turns.report(threadId, runId), {
        ...bound,
        owner: options.owner ?? bound.owner
      })
      return { threadId, runId, status: run.status }
    }
    const reply = await turn.reply()
    return options.throw === true ? orThrow(reply) : reply
  }

  const again = async (request: AgainRequest & { readonly content?: string }, given: TurnOptions | undefined) => {
    const options = { ...bound, ...given }
    const instead = readInstead(request)
    const { in: _in, messageId: _message, ...message } = request
    const startIt = () =>
      rooms.begin({ ...message, content: request.content ?? "" }, (turn) => turns.start({ ...turn, instead }))
    return opened(await begin(startIt, options), options)
  }

  return {
    start,
    send,
    stream: (request, given) => {
      const options = { ...bound, ...given }
      const startIt = () => startTurn({ stream: true, ...readOutput(request).request })
      return readable(calls, shown, async () => turnSource(await begin(startIt, options), options))
    },
    regenerate: (request, given) => again(request, given),
    edit: (request, given) => again(request, given),
    submitToolOutputs: async (request, given) => {
      const options = { ...bound, ...given }
      return opened(await begin(() => turns.submitToolOutputs(outputsRequest(request)), options), options)
    },
    approvals: approvalCalls(calls, turns, bound, async (request, options) =>
      opened(await begin(() => turns.decide(request), options), options)
    ),
    cancel,
    follow: ({ after = 0, runId, threadId }, given) => {
      const options = { ...bound, ...given }
      const follow = () => turns.follow(readId(ThreadId, threadId), readId(RunId, runId), readCount("after", after))
      const watch: Watch = (leave) => calls.watch(options.signal, leave)
      return readable(calls, shown, async () => ({
        events: await calls.run(follow, options),
        watch,
        leave: async () => {}
      }))
    },
    runs: runCalls(calls, bound),
    report: ({ runId, threadId }, options) =>
      calls.run(() => turns.report(readId(ThreadId, threadId), readId(RunId, runId)), { ...bound, ...options })
  }
}

/** Watches only the signal. A closing kernel ends its turns, and with them the calls that wait for one. */
const watching =
  ({ signal }: TurnOptions): Watch =>
  (leave) =>
    watchSignal(signal, leave)

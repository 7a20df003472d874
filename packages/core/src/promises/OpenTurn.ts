/**
 * Turns as promises and async iterables. A turn belongs to the kernel: a caller that leaves (a `break`, an aborted signal) only stops
 * waiting, unless the caller sets `onLeave: "cancel"`.
 */
import * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import { type AssistantId, RunId, ThreadId } from "../primitives/Ids.ts"
import { firstPage } from "../primitives/Page.ts"
import type { Run } from "../runs/Run.ts"
import type { StartedTurn } from "../turns/StartedTurn.ts"
import type { TurnEvent } from "../turns/TurnEvent.ts"
import { type RunList, type RunReport, Turns } from "../turns/TurnUseCases.ts"
import { type CallOptions, type Calls, unlessLeft, type Watch, watchSignal } from "./Calls.ts"
import { readable, type Source } from "./EventReader.ts"
import { readId } from "./PlainIds.ts"
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
import type { JoinedRooms } from "./JoinedRooms.ts"
import {
  type RunsRequest,
  type FollowRequest,
  outputsRequest,
  type OutputsRequest,
  type RunPlace,
  type SendRequest
} from "./Requests.ts"
import type { NoRooms, RoomTypes } from "./Room.ts"

export interface TurnOptions extends CallOptions {
  /** What happens to the run when the caller breaks out of its events or aborts the signal. Default: `continue`. */
  readonly onLeave?: "continue" | "cancel" | undefined
}

export interface SendOptions extends TurnOptions {
  /** True: a failed turn rejects with `TurnFailed`. Otherwise it is a reply with the status `FAILED`. */
  readonly throw?: boolean | undefined
}

/** A turn that has begun. */
export interface OpenTurn<Types extends RoomTypes = NoRooms, Answer = Reply> {
  readonly threadId: ThreadId
  readonly assistantId: AssistantId
  readonly runId: RunId
  /** The events of this leg, live, from its first to its terminal event. Every loop begins at the first event. */
  readonly events: AsyncIterable<TurnEvent | Types["event"]>
  /** Waits for the end of the leg. */
  readonly reply: () => Promise<Answer & Types["reply"]>
}

/** A message whose answer is to be an object. */
type Asking<Types extends RoomTypes, Wanted> = SendRequest & Types["request"] & WantedOutput<Wanted>

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
   * object that the model wrote: `output`, which fits the schema when the status is `COMPLETED`, and is null otherwise.
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
    (request: SendRequest & Types["request"], options?: SendOptions): Promise<Reply & Types["reply"]>
  }
  /** Begins a turn with the first step of the loop and returns its events live. Each loop begins a new turn. */
  readonly stream: (
    request: SendRequest & Types["request"] & Partial<WantedOutput<OutputSchema>>,
    options?: TurnOptions
  ) => AsyncIterable<TurnEvent | Types["event"]>
  /** Resumes a run that waits for the outputs of the client's tools. */
  readonly submitToolOutputs: (request: OutputsRequest, options?: TurnOptions) => Promise<OpenTurn<Types>>
  /** Ends a run; the text so far is kept. An ended run stays as it is. */
  readonly cancel: (run: RunPlace, options?: CallOptions) => Promise<Run>
  /** The events of a run up to the next terminal event, also when another process works on it. */
  readonly follow: (request: FollowRequest, options?: CallOptions) => AsyncIterable<TurnEvent | Types["event"]>
  /** The runs of a thread, newest first; those that wait for their turn (`status: "QUEUED"`) come before all others. */
  readonly runs: (request: RunsRequest, options?: CallOptions) => Promise<RunList>
  /** The run, its ignored options, and the explanation of its last prompt. */
  readonly report: (run: RunPlace, options?: CallOptions) => Promise<RunReport>
}

export const turnCalls = <Services>(
  calls: Calls<Services | Turns>,
  rooms: JoinedRooms,
  bound: CallOptions
): TurnCalls => {
  const turns = calls.service(Turns)

  const cancel: TurnCalls["cancel"] = ({ runId, threadId }, options) =>
    calls.run(() => turns.cancel(readId(ThreadId, threadId), readId(RunId, runId)), { ...bound, ...options })

  /** Runs when the caller of a turn leaves. The signal is not passed on: it is aborted already and would end the cancel. */
  const leaver = (options: TurnOptions) => async (run: RunPlace) => {
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

  const sourceOf = (turn: StartedTurn, options: TurnOptions): Source => ({
    events: turn.events,
    watch: watching(options),
    leave: () => leaver(options)(turn)
  })

  const opened = (turn: StartedTurn, options: TurnOptions, finish?: ReadOutput["finish"]): OpenTurn => ({
    threadId: turn.threadId,
    assistantId: turn.assistantId,
    runId: turn.runId,
    events: readable(calls, rooms.show, async () => sourceOf(turn, options)),
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
  async function send(request: SendRequest, options?: SendOptions): Promise<Reply>
  async function send(request: SendRequest, options: SendOptions = {}): Promise<Reply> {
    const turn = await start({ ...request, stream: false }, options)
    const reply = await turn.reply()
    return options.throw === true ? orThrow(reply) : reply
  }

  return {
    start,
    send,
    stream: (request, given) => {
      const options = { ...bound, ...given }
      const startIt = () => startTurn({ stream: true, ...readOutput(request).request })
      return readable(calls, rooms.show, async () => sourceOf(await begin(startIt, options), options))
    },
    submitToolOutputs: async (request, given) => {
      const options = { ...bound, ...given }
      return opened(await begin(() => turns.submitToolOutputs(outputsRequest(request)), options), options)
    },
    cancel,
    follow: ({ after = 0, runId, threadId }, given) => {
      const options = { ...bound, ...given }
      const follow = () => turns.follow(readId(ThreadId, threadId), readId(RunId, runId), after)
      const watch: Watch = (leave) => calls.watch(options.signal, leave)
      return readable(calls, rooms.show, async () => ({
        events: await calls.run(follow, options),
        watch,
        leave: async () => {}
      }))
    },
    runs: ({ limit = firstPage.limit, threadId, ...page }, options) =>
      calls.run(() => turns.list(readId(ThreadId, threadId), { ...page, limit }), { ...bound, ...options }),
    report: ({ runId, threadId }, options) =>
      calls.run(() => turns.report(readId(ThreadId, threadId), readId(RunId, runId)), { ...bound, ...options })
  }
}

/** Watches only the signal. A closing kernel ends its turns, and with them the calls that wait for one. */
const watching =
  ({ signal }: TurnOptions): Watch =>
  (leave) =>
    watchSignal(signal, leave)

/**
 * Turns as promises and async iterables. A turn belongs to the kernel: a caller that leaves (a `break`, an aborted signal) only stops
 * waiting, unless the caller sets `onLeave: "cancel"`.
 */
import type * as Effect from "effect/Effect"
import type { Principal } from "../access/Principal.ts"
import { AssistantId, RunId, ThreadId } from "../primitives/Ids.ts"
import { firstPage } from "../primitives/Page.ts"
import type { Run } from "../runs/Run.ts"
import type { RunPage } from "../runs/RunStore.ts"
import type { StartedTurn } from "../turns/StartedTurn.ts"
import type { TurnEvent } from "../turns/TurnEvent.ts"
import type { TurnReply } from "../turns/TurnReply.ts"
import type { ToolOutputsRequest, TurnRequest } from "../turns/TurnRequest.ts"
import { type RunList, type RunReport, Turns } from "../turns/TurnUseCases.ts"
import { type CallOptions, type Calls, unlessLeft, type Watch, watchSignal } from "./Calls.ts"
import { readable, type Source } from "./EventReader.ts"
import { readId } from "./PlainIds.ts"

export interface TurnOptions extends CallOptions {
  /** What happens to the run when the caller breaks out of its events or aborts the signal. Default: `continue`. */
  readonly onLeave?: "continue" | "cancel" | undefined
}

/** `TurnRequest` with ids as plain text. */
export interface SendRequest extends Omit<TurnRequest, "threadId" | "assistantId"> {
  /** Absent: a new thread is created, for the assistant `assistantId` or for a new assistant. */
  readonly threadId?: string | undefined
  readonly assistantId?: string | undefined
}

/** `ToolOutputsRequest` with ids as plain text. */
export interface OutputsRequest extends Omit<ToolOutputsRequest, "threadId" | "runId"> {
  readonly threadId: string
  /** Absent: the thread's run that waits for outputs. */
  readonly runId?: string | undefined
}

/** Identifies a run. Turns and replies have these fields. */
export interface RunPlace {
  readonly threadId: string
  readonly runId: string
}

export interface FollowRequest extends RunPlace {
  /** The `sequence` of the last event that the caller has. Absent: from the first event. */
  readonly after?: number | undefined
}

export interface RunsRequest extends Partial<RunPage> {
  readonly threadId: string
}

/** A turn that has begun. */
export interface OpenTurn {
  readonly threadId: ThreadId
  readonly assistantId: AssistantId
  readonly runId: RunId
  /** The events of this leg, live, from its first to its terminal event. Every loop begins at the first event. */
  readonly events: AsyncIterable<TurnEvent>
  /** Waits for the end of the leg. */
  readonly reply: () => Promise<TurnReply>
}

export interface TurnCalls {
  /** Begins a turn. When this resolves, the message and the run are stored. */
  readonly start: (request: SendRequest, options?: TurnOptions) => Promise<OpenTurn>
  /** Begins a turn and waits for its reply. A failed run is a reply with a `fault`, not a rejection; its `content` is what was said until then. */
  readonly send: (request: SendRequest, options?: TurnOptions) => Promise<TurnReply>
  /** Begins a turn with the first step of the loop and returns its events live. Each loop begins a new turn. */
  readonly stream: (request: SendRequest, options?: TurnOptions) => AsyncIterable<TurnEvent>
  /** Resumes a run that waits for the outputs of the client's tools. */
  readonly submitToolOutputs: (request: OutputsRequest, options?: TurnOptions) => Promise<OpenTurn>
  /** Ends a run; the text so far is kept. An ended run stays as it is. */
  readonly cancel: (run: RunPlace, options?: CallOptions) => Promise<Run>
  /** The events of a run up to the next terminal event, also when another process works on it. */
  readonly follow: (request: FollowRequest, options?: CallOptions) => AsyncIterable<TurnEvent>
  /** The runs of a thread, newest first; those that wait for their turn (`status: "QUEUED"`) come before all others. */
  readonly runs: (request: RunsRequest, options?: CallOptions) => Promise<RunList>
  /** The run, its ignored options, and the explanation of its last prompt. */
  readonly report: (run: RunPlace, options?: CallOptions) => Promise<RunReport>
}

const turnRequest = ({ assistantId, threadId, ...request }: SendRequest): TurnRequest => ({
  ...request,
  ...(threadId === undefined ? {} : { threadId: readId(ThreadId, threadId) }),
  ...(assistantId === undefined ? {} : { assistantId: readId(AssistantId, assistantId) })
})

const outputsRequest = ({ runId, threadId, ...request }: OutputsRequest): ToolOutputsRequest => ({
  ...request,
  threadId: readId(ThreadId, threadId),
  ...(runId === undefined ? {} : { runId: readId(RunId, runId) })
})

export const turnCalls = <Services>(calls: Calls<Services | Turns>, bound: CallOptions): TurnCalls => {
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

  const opened = (turn: StartedTurn, options: TurnOptions): OpenTurn => ({
    threadId: turn.threadId,
    assistantId: turn.assistantId,
    runId: turn.runId,
    events: readable(calls, async () => sourceOf(turn, options)),
    reply: () =>
      unlessLeft(
        calls.runToItsEnd(() => turn.reply, options),
        watching(options),
        () => leaver(options)(turn)
      )
  })

  const start: TurnCalls["start"] = async (request, given) => {
    const options = { ...bound, ...given }
    return opened(await begin(() => turns.start(turnRequest(request)), options), options)
  }

  return {
    start,
    send: async (request, options) => (await start({ ...request, stream: false }, options)).reply(),
    stream: (request, given) => {
      const options = { ...bound, ...given }
      const startIt = () => turns.start(turnRequest({ stream: true, ...request }))
      return readable(calls, async () => sourceOf(await begin(startIt, options), options))
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
      return readable(calls, async () => ({ events: await calls.run(follow, options), watch, leave: async () => {} }))
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

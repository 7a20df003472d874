/** Runs as promises and async iterables: those of a thread, and all of an owner. */
import { AssistantId, RunId, ThreadId } from "../primitives/Ids.ts"
import { firstPage } from "../primitives/Page.ts"
import { Inbox, type RunSummaries } from "../runs/Inbox.ts"
import type { RunPosition, RunChange } from "../runs/InboxStore.ts"
import type { RunStatus } from "../runs/Run.ts"
import { type RunList, Turns } from "../turns/TurnUseCases.ts"
import type { CallOptions, Calls } from "./Calls.ts"
import { readable } from "./EventReader.ts"
import { readId } from "./PlainIds.ts"
import { readCount, readTime } from "./PlainPages.ts"
import type { RunsRequest } from "./Requests.ts"

/** Which runs of an owner are listed. Absent fields: all. */
export interface RunsFilter {
  readonly status?: RunStatus | undefined
  readonly assistantId?: string | undefined
  readonly threadId?: string | undefined
  /** Runs that were created at this time or later. */
  readonly since?: Date | undefined
  /** Default 20. */
  readonly limit?: number | undefined
  /** `next` of the page before. */
  readonly after?: RunPosition | undefined
}

/** The runs of an owner: list, look at, follow, cancel. */
export interface RunCalls {
  /** The runs of a thread, newest first; those that wait for their turn (`status: "QUEUED"`) come before all others. */
  (request: RunsRequest, options?: CallOptions): Promise<RunList>
  /** The runs of all threads, newest first. */
  readonly list: (filter?: RunsFilter, options?: CallOptions) => Promise<RunSummaries>
  /**
   * Each run that begins or changes its state, in any process, until the loop is left. `after` is the `mark` of the last change that the
   * caller has, up to an hour old; absent: only what is new.
   */
  readonly events: (from?: { readonly after?: number | undefined }, options?: CallOptions) => AsyncIterable<RunChange>
}

export const runCalls = <Services>(calls: Calls<Services | Turns | Inbox>, bound: CallOptions): RunCalls => {
  const turns = calls.service(Turns)
  const inbox = calls.service(Inbox)
  const ofThread = ({ after, limit = firstPage.limit, threadId, ...page }: RunsRequest, options?: CallOptions) => {
    const asked = () => ({
      ...page,
      limit: readCount("limit", limit),
      ...(after === undefined ? {} : { after: readCount("after", after) })
    })
    return calls.run(() => turns.list(readId(ThreadId, threadId), asked()), { ...bound, ...options })
  }
  return Object.assign(ofThread, {
    list: (filter: RunsFilter = {}, options?: CallOptions) => {
      const { after, assistantId, limit = 20, since, status, threadId } = filter
      const page = () => ({
        limit: readCount("limit", limit),
        ...(status === undefined ? {} : { status }),
        ...(assistantId === undefined ? {} : { assistantId: readId(AssistantId, assistantId) }),
        ...(threadId === undefined ? {} : { threadId: readId(ThreadId, threadId) }),
        ...(since === undefined ? {} : { since: readTime("since", since) }),
        ...(after === undefined
          ? {}
          : { after: { createdAt: readTime("after.createdAt", after.createdAt), id: readId(RunId, after.id) } })
      })
      return calls.run(() => inbox.list(page()), { ...bound, ...options })
    },
    events: ({ after }: { readonly after?: number | undefined } = {}, given?: CallOptions) => {
      const options = { ...bound, ...given }
      return readable(calls, { show: (change: RunChange) => change, isLast: () => false }, async () => ({
        events: await calls.run(() => inbox.events(after === undefined ? null : readCount("after", after)), options),
        watch: (leave) => calls.watch(options.signal, leave),
        leave: async () => {}
      }))
    }
  })
}

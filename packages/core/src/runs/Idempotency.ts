/** The names of requests, by which a repeat finds what the first one began. */
import type { RunId, ThreadId } from "../primitives/Ids.ts"

/** A name that a caller gives to one request, so that a repeat of the request finds the first one. `fingerprint` is a hash of the body. */
export interface IdempotencyKey {
  readonly key: string
  readonly fingerprint: string
}

/** The earlier use of an idempotency key: a run, and the first event of the leg that the request began. */
export interface Repeated {
  readonly _tag: "Repeated"
  readonly runId: RunId
  readonly legStart: number
  readonly fingerprint: string
}

/** With the thread in which the run was begun; null: the version of the kernel that began it did not keep it. */
export interface FoundRepeat extends Repeated {
  readonly threadId: ThreadId | null
}

/**
 * Scratch threads that a client has asked for, such as those of a playground. No list shows them, so each is deleted a day after it was made,
 * if its client has not done so: a follow-up, which is stored before the thread is.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { FollowUpId, newId, ThreadId } from "../primitives/Ids.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { FollowUpFailed, typedWorker } from "../runs/FollowUpWorker.ts"
import { Threads } from "../threads/Threads.ts"

const kind = "remove_scratch_thread"
const day = 86_400_000

export const removeLater = Effect.fnUntraced(function* (
  followUps: Pick<typeof FollowUps.Service, "add">,
  threadId: ThreadId,
  createdAt: Date
) {
  const id = yield* newId(FollowUpId)
  yield* followUps.add([{ id, kind, key: threadId, payload: threadId, sequence: null, delayMillis: day, createdAt }])
})

export const removeScratchThreads: Layer.Layer<never, never, FollowUps | Threads> = Layer.effectDiscard(
  Effect.gen(function* () {
    const threads = yield* Threads
    yield* (yield* FollowUps).register(
      // No record waits: the follow-up is stored before its thread.
      typedWorker({
        kind,
        payload: ThreadId,
        run: (threadId) =>
          threads.remove(threadId).pipe(
            Effect.catchTags({
              ThreadNotFound: () => Effect.void,
              ThreadInSession: ({ message }) =>
                Effect.fail(new FollowUpFailed({ message, isRetryable: true, isOutage: true, pauseMillis: day }))
            })
          )
      })
    )
  })
)

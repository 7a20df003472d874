/**
 * Copies what belongs to the source of a clone: the clone is inserted as a draft, the copiers fill it, then it is published in one write. A
 * follow-up, stored before the draft, removes the draft if it was never published because the process died.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { AssistantId } from "../primitives/Ids.ts"
import { newFollowUp } from "../runs/FollowUp.ts"
import { FollowUps } from "../runs/FollowUps.ts"
import { typedWorker } from "../runs/FollowUpWorker.ts"
import { Removals } from "../threads/Removals.ts"
import { type Assistant, AssistantNotFound } from "./Assistant.ts"
import { AssistantStore } from "./AssistantStore.ts"
import { Copies } from "./Copies.ts"

const discardKind = "assistants.discard_draft"

/** Longer than any copying takes. Nobody sees a draft, so there is no hurry. */
const discardDelayMillis = 60 * 60_000

const Payload = Schema.Struct({ assistantId: AssistantId })

export const makeCloning = Effect.gen(function* () {
  const store = yield* AssistantStore
  const copies = yield* Copies
  const followUps = yield* FollowUps
  const removals = yield* Removals

  const discard = (assistantId: AssistantId) => removals.through({ assistantId }, store.discard(assistantId))

  const discardDrafts = followUps.register(
    typedWorker({
      // No record waits: the follow-up is stored before the draft.
      kind: discardKind,
      payload: Payload,
      run: Effect.fnUntraced(function* ({ assistantId }) {
        if (Option.isNone(yield* store.get(assistantId))) yield* discard(assistantId)
      })
    })
  )
  // Without a copier there are no drafts, so this waits for the first copier before it registers the worker.
  yield* Effect.forkScoped(Effect.andThen(copies.first, discardDrafts))

  const discardLater = Effect.fnUntraced(function* (assistantId: AssistantId) {
    const order = { kind: discardKind, key: assistantId, payload: { assistantId }, delayMillis: discardDelayMillis }
    yield* followUps.add([yield* newFollowUp(order)])
  })

  const fillDraft = Effect.fnUntraced(function* (
    source: Assistant,
    clone: Assistant,
    copiers: ReturnType<typeof copies.all>
  ) {
    yield* store.insertDraft(clone)
    const counts = yield* Effect.forEach(copiers, ({ copy }) => copy(source.id, clone.id))
    if (!(yield* store.publish(clone.id))) return yield* new AssistantNotFound({ assistantId: clone.id })
    return Object.fromEntries(copiers.map(({ name }, index) => [name, counts[index] ?? 0]))
  })

  /** Inserts the clone and runs the copiers. Returns how many records each copier copied. */
  const insert = Effect.fnUntraced(function* (source: Assistant, clone: Assistant, without: ReadonlyArray<string>) {
    const copiers = copies.all().filter(({ name }) => !without.includes(name))
    if (copiers.length === 0) {
      yield* store.insert(clone)
      return {}
    }
    yield* discardLater(clone.id)
    // If the draft cannot be removed now, the follow-up removes it.
    return yield* Effect.onError(fillDraft(source, clone, copiers), () => Effect.ignore(discard(clone.id)))
  })

  return { insert }
})

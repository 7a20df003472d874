/** `OutcomeStore` in memory. An outcome whose assistant or thread was deleted is no longer returned, although its row stays in the map. */
import type { OwnerId } from "@colloquy/core"
import { type Outcome, OutcomeStore } from "@colloquy/core/wings"
import { findAssistant, ownedStep, ownedWrite, type State, findThread } from "./State.ts"

export const outcomeStore = (state: State): typeof OutcomeStore.Service => {
  const findNewest = (ownerId: OwnerId, isWanted: (outcome: Outcome) => boolean, limit: number) =>
    [...state.outcomes.values()]
      .filter((row) => row.ownerId === ownerId && isWanted(row.outcome) && hasScope(state, ownerId, row.outcome))
      .map(({ outcome }) => outcome)
      .sort((a, b) => b.recordedAt.getTime() - a.recordedAt.getTime())
      .slice(0, limit)
  return OutcomeStore.of({
    record: (outcome) =>
      ownedWrite(state, "OutcomeStore.record", (ownerId) => {
        if (!hasScope(state, ownerId, outcome)) return false
        state.outcomes.set(outcomeKey(ownerId, outcome), { ownerId, outcome })
        return true
      }),
    newest: (assistantId, limit) =>
      ownedStep((ownerId) => findNewest(ownerId, (outcome) => outcome.assistantId === assistantId, limit)),
    ofThread: (threadId, limit) =>
      ownedStep((ownerId) => findNewest(ownerId, (outcome) => outcome.threadId === threadId, limit)),
    find: (answered) =>
      ownedStep((ownerId) =>
        [...new Set(answered.map((each) => outcomeKey(ownerId, each)))].flatMap((key) => {
          const row = state.outcomes.get(key)
          return row !== undefined && hasScope(state, ownerId, row.outcome) ? [row.outcome] : []
        })
      )
  })
}

const outcomeKey = (ownerId: OwnerId, { answerSetId, question }: Pick<Outcome, "answerSetId" | "question">): string =>
  JSON.stringify([ownerId, answerSetId, question])

const hasScope = (state: State, ownerId: OwnerId, { assistantId, threadId }: Outcome): boolean =>
  (assistantId === null || findAssistant(state, ownerId, assistantId) !== undefined) &&
  (threadId === null || findThread(state, ownerId, threadId) !== undefined)

/** `EvalStore` in memory. */
import type { OwnerId } from "@colloquy/core"
import type { CaseId } from "@colloquy/core/adapters"
import { EvalStore } from "@colloquy/core/wings"
import * as Option from "effect/Option"
import { findKey, keepAnswer } from "./IdempotencyKeys.ts"
import { insertNew, ownedStep, ownedWrite, pageBehind, type State } from "./State.ts"

export const evalStore = (state: State): typeof EvalStore.Service => {
  const find = (ownerId: OwnerId, id: CaseId) => {
    const row = state.evalCases.get(id)
    return row?.ownerId === ownerId ? row : undefined
  }
  const all = (ownerId: OwnerId) => [...state.evalCases.values()].filter((row) => row.ownerId === ownerId)

  return EvalStore.of({
    insertCases: (cases, most, once) =>
      ownedWrite(state, "EvalStore.insertCases", (ownerId, now) => {
        if (once !== null && findKey(state, ownerId, once.key, now) !== undefined) return "repeated"
        if (all(ownerId).length + cases.length > most) return "too_many"
        for (const evalCase of cases) insertNew(state.evalCases, evalCase.id, { ownerId, evalCase })
        keepAnswer(state, ownerId, once, now)
        return "stored"
      }),
    getCase: (id) => ownedStep((ownerId) => Option.fromNullishOr(find(ownerId, id)?.evalCase)),
    listCases: ({ after, limit, tag }) =>
      ownedStep((ownerId) => {
        const cases = all(ownerId).map(({ evalCase }) => evalCase)
        const page = pageBehind(cases, cases.length, after)
        return page.filter(({ tags }) => tag === undefined || tags.includes(tag)).slice(0, limit)
      }),
    replaceCase: (evalCase) =>
      ownedWrite(state, "EvalStore.replaceCase", (ownerId) => {
        const row = find(ownerId, evalCase.id)
        if (row === undefined) return false
        row.evalCase = evalCase
        return true
      }),
    removeCase: (id) => ownedStep((ownerId) => find(ownerId, id) !== undefined && state.evalCases.delete(id))
  })
}

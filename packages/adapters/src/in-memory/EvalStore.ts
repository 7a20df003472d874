/** `EvalStore` in memory. */
import type { MessageId, OwnerId } from "@colloquy/core"
import type { CaseId, ExperimentId } from "@colloquy/core/adapters"
import { attemptsIn, EvalStore } from "@colloquy/core/wings"
import * as Option from "effect/Option"
import { storeFollowUps } from "./FollowUpStore.ts"
import { findKey, keepAnswer } from "./IdempotencyKeys.ts"
import { findThread, insertNew, ownedStep, ownedWrite, pageBehind, type State } from "./State.ts"

export const evalStore = (state: State): typeof EvalStore.Service => {
  const find = (ownerId: OwnerId, id: CaseId) => {
    const row = state.evalCases.get(id)
    return row?.ownerId === ownerId ? row : undefined
  }
  const findExperiment = (ownerId: OwnerId, id: ExperimentId) => {
    const row = state.experiments.get(id)
    return row?.ownerId === ownerId ? row : undefined
  }
  const allExperiments = (ownerId: OwnerId) =>
    [...state.experiments.values()].filter((row) => row.ownerId === ownerId).map((row) => row.state)
  const all = (ownerId: OwnerId) => [...state.evalCases.values()].filter((row) => row.ownerId === ownerId)
  const allScores = (ownerId: OwnerId) =>
    [...state.onlineScores.values()]
      .filter((row) => row.ownerId === ownerId && findThread(state, ownerId, row.score.threadId) !== undefined)
      .map(({ score }) => ({ id: score.runId, score }))
  const feedbackOn = (ownerId: OwnerId, messageIds: ReadonlyArray<MessageId>) =>
    [...state.feedback.values()].findLast(
      (row) => row.ownerId === ownerId && messageIds.includes(row.feedback.messageId)
    )?.feedback.score ?? null

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
    removeCase: (id) => ownedStep((ownerId) => find(ownerId, id) !== undefined && state.evalCases.delete(id)),
    insertExperiment: (experiment, followUps, most, once) =>
      ownedWrite(state, "EvalStore.insertExperiment", (ownerId, now) => {
        if (once !== null && findKey(state, ownerId, once.key, now) !== undefined) return "repeated"
        if (allExperiments(ownerId).length >= most) return "too_many"
        const begun = { experiment, status: "running" as const, reason: null, done: 0, costUsd: 0, endedAt: null }
        insertNew(state.experiments, experiment.id, { ownerId, state: begun, results: new Map() })
        storeFollowUps(state, ownerId, now, followUps)
        keepAnswer(state, ownerId, once, now)
        return "stored"
      }),
    getExperiment: (id) => ownedStep((ownerId) => Option.fromNullishOr(findExperiment(ownerId, id)?.state)),
    listExperiments: ({ after, limit }) =>
      ownedStep((ownerId) => {
        const rows = allExperiments(ownerId).map((each) => ({ ...each, id: each.experiment.id }))
        return pageBehind(rows, limit, after).map(({ id: _id, ...each }) => each)
      }),
    endExperiment: ({ at, id, reason, status }) =>
      ownedStep((ownerId) => {
        const row = findExperiment(ownerId, id)
        if (row?.state.status !== "running") return false
        row.state = { ...row.state, status, reason, endedAt: at }
        return true
      }),
    resumeExperiment: (experiment, followUps, once) =>
      ownedWrite(state, "EvalStore.resumeExperiment", (ownerId, now) => {
        if (once !== null && findKey(state, ownerId, once.key, now) !== undefined) return "repeated"
        const row = findExperiment(ownerId, experiment.id)
        if (row?.state.status !== "stopped" && row?.state.status !== "cancelled") return "kept"
        row.state = { ...row.state, experiment, status: "running", reason: null, endedAt: null }
        storeFollowUps(state, ownerId, now, followUps)
        keepAnswer(state, ownerId, once, now)
        return "resumed"
      }),
    recordResult: (id, result, next) =>
      ownedWrite(state, "EvalStore.recordResult", (ownerId, now) => {
        const row = findExperiment(ownerId, id)
        if (row?.state.status !== "running" || row.results.has(result.number)) return false
        row.results.set(result.number, result)
        const { experiment } = row.state
        const done = row.results.size
        const costUsd = row.state.costUsd + (result.costUsd ?? 0) + (result.judgesCostUsd ?? 0)
        row.state = { ...row.state, done, costUsd }
        if (done >= attemptsIn(experiment)) row.state = { ...row.state, status: "completed", endedAt: result.endedAt }
        if (next !== null) storeFollowUps(state, ownerId, now, [next])
        return true
      }),
    addCost: (id, costUsd) =>
      ownedStep((ownerId) => {
        const row = findExperiment(ownerId, id)
        if (row !== undefined) row.state = { ...row.state, costUsd: row.state.costUsd + costUsd }
      }),
    listResults: ({ after = -1, experimentId, limit }) =>
      ownedStep((ownerId) =>
        [...(findExperiment(ownerId, experimentId)?.results.values() ?? [])]
          .filter(({ number }) => number > after)
          .toSorted((a, b) => a.number - b.number)
          .slice(0, limit)
      ),
    removeExperiment: (id) =>
      ownedStep((ownerId) => findExperiment(ownerId, id) !== undefined && state.experiments.delete(id)),
    putFeedback: (feedback, once) =>
      ownedWrite(state, "EvalStore.putFeedback", (ownerId, now) => {
        if (once !== null && findKey(state, ownerId, once.key, now) !== undefined) return "repeated"
        if (findThread(state, ownerId, feedback.threadId) === undefined) return "missing"
        // The last one that was given is the newest.
        state.feedback.delete(feedback.messageId)
        state.feedback.set(feedback.messageId, { ownerId, feedback })
        keepAnswer(state, ownerId, once, now)
        return "stored"
      }),
    listFeedback: ({ after, assistantId, limit, threadId }) =>
      ownedStep((ownerId) => {
        const rows = [...state.feedback.values()]
          .filter((row) => row.ownerId === ownerId && findThread(state, ownerId, row.feedback.threadId) !== undefined)
          .map(({ feedback }) => ({ id: feedback.messageId, feedback }))
        return pageBehind(rows, rows.length, after)
          .map(({ feedback }) => feedback)
          .filter(
            (each) =>
              (threadId === undefined || each.threadId === threadId) &&
              (assistantId === undefined || each.assistantId === assistantId)
          )
          .slice(0, limit)
      }),
    putOnlineScore: (score) =>
      ownedWrite(state, "EvalStore.putOnlineScore", (ownerId) => {
        if (findThread(state, ownerId, score.threadId) === undefined || state.onlineScores.has(score.runId))
          return false
        state.onlineScores.set(score.runId, { ownerId, score })
        return true
      }),
    getOnlineScore: (runId) =>
      ownedStep((ownerId) => Option.fromNullishOr(allScores(ownerId).find(({ id }) => id === runId)?.score)),
    listOnlineScores: ({ after, assistantId, before, from, limit, rated = false }) =>
      ownedStep((ownerId) => {
        const rows = allScores(ownerId)
        return pageBehind(rows, rows.length, after)
          .map(({ score }) => ({ score, feedback: feedbackOn(ownerId, score.messageIds) }))
          .filter(
            ({ feedback, score }) =>
              (assistantId === undefined || score.assistantId === assistantId) &&
              (from === undefined || score.endedAt >= from) &&
              (before === undefined || score.endedAt < before) &&
              (!rated || feedback !== null)
          )
          .slice(0, limit)
      })
  })
}

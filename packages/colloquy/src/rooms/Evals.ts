/** The room of evals: `evals()`. It adds `colloquy.evals`: cases of real turns, and what is expected of their answers. */
import { AssistantId, MessageId, ThreadId } from "@colloquy/core"
import { CaseId, type DeepPartial, type IdempotencyKey } from "@colloquy/core/adapters"
import {
  type CaseChange,
  type CaseList,
  type EvalCase,
  Evals,
  type EvalSettings,
  type NewCase
} from "@colloquy/core/evals"
import { type CallOptions, readId, type Room, room, type RoomTypes, type RunCall } from "@colloquy/core/promises"
import * as Effect from "effect/Effect"
import type { RoomNeeds } from "../Store.ts"

export type { CaseChange, CaseList, EvalCase, Expectation } from "@colloquy/core/evals"

/** `NewCase` with the assistant's id as plain text. */
export interface CaseFields extends Omit<NewCase, "assistantId"> {
  readonly assistantId?: string | null
}

/** A turn that becomes a case: its question, or an answer to it. */
export interface TurnPlace extends CaseChange {
  readonly threadId: string
  readonly messageId: string
}

interface Once {
  readonly idempotency?: IdempotencyKey
}

export interface EvalCalls {
  /** A case of a stored turn, or one that is written by hand. With `idempotency`, a repeat within a day gets the first answer. */
  readonly createCase: (asked: (CaseFields | TurnPlace) & Once, options?: CallOptions) => Promise<EvalCase>
  /** All of these cases, or none; their ids, in order. */
  readonly importCases: (
    list: { readonly cases: ReadonlyArray<CaseFields> } & Once,
    options?: CallOptions
  ) => Promise<ReadonlyArray<string>>
  readonly getCase: (caseId: string, options?: CallOptions) => Promise<EvalCase>
  /** Newest first. */
  readonly listCases: (
    page?: { readonly limit?: number; readonly after?: string; readonly tag?: string },
    options?: CallOptions
  ) => Promise<CaseList>
  /** Changes what is given. */
  readonly updateCase: (change: CaseChange & { readonly caseId: string }, options?: CallOptions) => Promise<EvalCase>
  readonly removeCase: (caseId: string, options?: CallOptions) => Promise<void>
}

interface EvalsTypes extends RoomTypes {
  readonly calls: { readonly evals: EvalCalls }
  readonly event: never
}

export type EvalsRoom = Room<EvalsTypes, RoomNeeds>

export const evals = (given: DeepPartial<EvalSettings> = {}): EvalsRoom =>
  room<EvalsTypes>()(Evals.layer(given), functions)

const withId = ({ assistantId, ...fields }: CaseFields): NewCase => ({
  ...fields,
  ...(assistantId === undefined ? {} : { assistantId: assistantId === null ? null : readId(AssistantId, assistantId) })
})

const functions = Effect.gen(function* () {
  const service = yield* Evals
  const calls = (run: RunCall): EvalCalls => ({
    createCase: ({ idempotency, ...asked }, options) =>
      run(
        () =>
          service.createCase(
            "threadId" in asked
              ? { ...asked, threadId: readId(ThreadId, asked.threadId), messageId: readId(MessageId, asked.messageId) }
              : withId(asked),
            idempotency
          ),
        options
      ),
    importCases: ({ cases, idempotency }, options) =>
      run(() => service.importCases(cases.map(withId), idempotency), options),
    getCase: (caseId, options) => run(() => service.getCase(readId(CaseId, caseId)), options),
    listCases: ({ after, limit = 20, tag } = {}, options) =>
      run(
        () =>
          service.listCases({
            limit,
            ...(tag === undefined ? {} : { tag }),
            ...(after === undefined ? {} : { after: readId(CaseId, after) })
          }),
        options
      ),
    updateCase: ({ caseId, ...change }, options) =>
      run(() => service.updateCase(readId(CaseId, caseId), change), options),
    removeCase: (caseId, options) => run(() => service.removeCase(readId(CaseId, caseId)), options)
  })
  return { name: "evals", calls: (run: RunCall) => ({ evals: calls(run) }) }
})

/**
 * Answers the calls of one model step as far as the kernel can: it runs hosted tools in parallel and refuses what cannot be run. What is left
 * waits: calls of the client's tools, calls that a person must approve, calls of helpers that wait for a person, and calls whose tool asks a
 * person something. At the beginning of a later leg it runs the calls that were approved or answered.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Principal } from "../access/Principal.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { MessageId, newId } from "../primitives/Ids.ts"
import type { History } from "../threads/Message.ts"
import { type HostedCall, PersonAsked } from "../tools/HostedTool.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import { approvedResults, withResults } from "./ApprovedCalls.ts"
import { type CallAnswerer, findAnswerer, HostedCalls } from "./HostedCalls.ts"
import type { Leg } from "./Leg.ts"
import { goesOnInNextCall, recordStep, requireAnswer, toAnswer } from "./Questions.ts"
import { legRewriting } from "./Rewriting.ts"
import { recordLeg } from "./TurnRecorder.ts"
import { TurnSettings } from "./TurnSettings.ts"

type FindTurn = (part: string) => LiveTurn

interface RanCalls {
  readonly history: History
  readonly open: ReadonlyArray<ToolCall>
}

/** The output of a call, or what its tool asks a person first. */
type Ran = string | PersonAsked

export class AnswerCalls extends Context.Service<
  AnswerCalls,
  {
    /** Returns the calls that are left open. `mayRun` is false when the permitted rounds of hosted tools are used up. */
    readonly answerCalls: (
      leg: Leg,
      findTurn: FindTurn,
      calls: ReadonlyArray<ToolCall>,
      given: { readonly clientTools: ReadonlySet<string>; readonly mayRun: boolean }
    ) => Effect.Effect<ReadonlyArray<ToolCall>, never, Principal>
    /**
     * Runs the calls that were approved or answered before this leg. Returns the history with their outputs, and the calls that are left open:
     * a tool that asks a person has the answer in a call of its own.
     */
    readonly runApproved: (leg: Leg, findTurn: FindTurn, history: History) => Effect.Effect<RanCalls, never, Principal>
  }
>()("@colloquy/core/turns/AnswerCalls") {
  static readonly layer: Layer.Layer<AnswerCalls, never, HostedCalls> = Layer.effect(
    AnswerCalls,
    Effect.gen(function* () {
      const hosted = yield* HostedCalls
      const counter = yield* TokenCounter
      const settings = yield* TurnSettings

      const runAnswerer = (by: Exclude<CallAnswerer, { readonly _tag: "Client" }>, call: HostedCall) =>
        by._tag === "Refused" ? Effect.succeed(by.output) : hosted.run(by, call)

      /** Says what the call waits for, if there is no output yet: a run that it has begun, or the answer to a question. */
      const answer = Effect.fnUntraced(function* (
        leg: Leg,
        call: ToolCall,
        output: Effect.Effect<Ran, never, Principal>
      ) {
        const startedAt = yield* Clock.currentTimeMillis
        const text = yield* output
        if (hasWaitingChild(leg, call)) return "child"
        if (typeof text !== "string") return text
        yield* tell(leg, call, text, startedAt)
        return "nobody"
      })

      const tell = Effect.fnUntraced(function* (leg: Leg, call: ToolCall, text: string, startedAt: number) {
        const at = yield* Clock.currentTimeMillis
        leg.log.push((sequence) => ({
          _tag: "HostedResult",
          sequence,
          toolCallId: call.id,
          toolName: call.name,
          output: text,
          startedAt,
          at
        }))
        leg.tail.writeSoon()
        leg.log.wake()
      })

      /** Answers the call, or says what it waits for. */
      const answerOrWait = Effect.fnUntraced(function* (
        leg: Leg,
        findTurn: FindTurn,
        call: ToolCall,
        found: CallAnswerer
      ) {
        if (found._tag === "Client") return "client"
        const hostedCall = callFrom(leg, findTurn, call.id, found)
        const by = found._tag === "Hosted" ? yield* hosted.needsApproval(found, hostedCall) : found
        if (by._tag === "Approval") return "approval"
        return yield* answer(leg, call, runAnswerer(by, hostedCall))
      })

      return AnswerCalls.of({
        answerCalls: Effect.fnUntraced(function* (leg, findTurn, calls, { clientTools, mayRun }) {
          if (calls.length === 0) return calls
          const waits = yield* Effect.forEach(
            calls,
            (call) => answerOrWait(leg, findTurn, call, findAnswerer(call, clientTools, leg.hosted, mayRun)),
            { concurrency: settings.hostedConcurrency }
          )
          const expiresAt = expiryTime(settings, yield* Clock.currentTimeMillis)
          calls.forEach((call, index) => {
            const wait = waits[index]
            if (wait === "approval") requireAnswer(leg.log, call, expiresAt, null)
            else if (wait instanceof PersonAsked) requireAnswer(leg.log, call, expiresAt, wait)
          })
          return calls.filter((_, index) => waits[index] !== "nobody")
        }),

        runApproved: Effect.fnUntracedEager(function* (leg, findTurn, history) {
          const { answered } = leg
          const approved = answered?.results.filter(({ isPending }) => isPending === true) ?? []
          if (answered === undefined || approved.length === 0) return { history, open: [] }
          leg.log.push((sequence) => ({ _tag: "ApprovedCallsBegan", sequence }))
          if (!(yield* leg.tail.stored))
            return yield* Effect.die(new Error("Approved calls are not run: their beginning cannot be stored"))
          const asked = yield* Effect.forEach(
            approved,
            Effect.fnUntraced(function* ({ decided, toolCallId, toolName: name }) {
              const written = answered.calls.find(({ id }) => id === toolCallId)
              const question = written?.approval?.question
              const changed = question === undefined ? decided?.arguments : undefined
              const call = { id: toolCallId, name, arguments: changed ?? written?.arguments ?? "" }
              const by = findAnswerer(call, noTools, leg.hosted, true)
              if (by._tag === "Client") return null
              const from = callFrom(leg, findTurn, toolCallId, by)
              const again = question && decided ? { ...from, answer: toAnswer(question, decided) } : from
              const wait = yield* answer(leg, call, runAnswerer(by, again))
              if (!(wait instanceof PersonAsked)) return null
              yield* tell(leg, call, goesOnInNextCall, yield* Clock.currentTimeMillis)
              return { call: { ...call, id: yield* newId(MessageId) }, question: wait }
            }),
            { concurrency: settings.hostedConcurrency }
          )
          const ran = recordLeg(leg.log.events, counter).approvedResults
          const now = withResults(history, leg.lease.runId, approvedResults(answered.results, ran, counter))
          const questions = asked.filter((each) => each !== null)
          const open = questions.map(({ call }) => call)
          if (open.length === 0) return { history: now, open }
          const at = yield* Clock.currentTimeMillis
          recordStep(leg.log, open, at)
          for (const { call, question } of questions) requireAnswer(leg.log, call, expiryTime(settings, at), question)
          return { history: now, open }
        })
      })
    })
  )
}

const callFrom = (leg: Leg, findTurn: FindTurn, toolCallId: string, by: CallAnswerer): HostedCall => ({
  toolCallId,
  ...findTurn(by._tag === "Hosted" ? by.part : ""),
  rewriting: legRewriting(leg, "tool_output")
})

const hasWaitingChild = ({ log }: Leg, { id }: ToolCall): boolean =>
  log.events.some(
    (event) =>
      event._tag === "ChildEnded" &&
      event.calls !== undefined &&
      log.events.some(
        (began) => began._tag === "ChildBegan" && began.child.runId === event.runId && began.child.toolCallId === id
      )
  )

const noTools: ReadonlySet<string> = new Set()

const expiryTime = ({ approvalTimeout }: TurnSettings, now: number): string | null =>
  approvalTimeout === null ? null : new Date(now + Duration.toMillis(approvalTimeout)).toISOString()

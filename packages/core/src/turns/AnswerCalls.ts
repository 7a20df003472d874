/**
 * Answers the calls of one model step as far as the kernel can: it runs hosted tools in parallel and refuses what cannot be run. What is left
 * waits: calls of the client's tools, calls that a person must approve, and calls of helpers that wait for a person. At the beginning of a later leg it runs the calls that were
 * approved.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Principal } from "../access/Principal.ts"
import { TokenCounter } from "../models/TokenCounter.ts"
import { Deadlines } from "../primitives/Deadlines.ts"
import type { History } from "../threads/Message.ts"
import type { HostedCall } from "../tools/HostedTool.ts"
import type { LiveTurn } from "../tools/LiveTurn.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import { approvedResults, withResults } from "./ApprovedCalls.ts"
import { type Answerer, findAnswerer, needsApproval, runHosted } from "./HostedCalls.ts"
import type { Leg } from "./Leg.ts"
import { rewriteBy } from "./Rewriting.ts"
import type { Rewrite } from "./TurnPart.ts"
import { recordLeg } from "./TurnRecorder.ts"
import { TurnSettings } from "./TurnSettings.ts"

type FindTurn = (part: string) => LiveTurn

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
    /** Runs the calls that were approved before this leg. Returns the history with their outputs. */
    readonly runApproved: (leg: Leg, findTurn: FindTurn, history: History) => Effect.Effect<History, never, Principal>
  }
>()("@colloquy/core/turns/AnswerCalls") {
  static readonly layer: Layer.Layer<AnswerCalls, never, Deadlines> = Layer.effect(
    AnswerCalls,
    Effect.gen(function* () {
      const deadlines = yield* Deadlines
      const counter = yield* TokenCounter
      const settings = yield* TurnSettings

      const runAnswerer = (leg: Leg, by: Exclude<Answerer, { readonly _tag: "Client" }>, call: HostedCall) => {
        if (by._tag === "Refused") return Effect.succeed(by.output)
        const { assistantId, lease } = leg
        const rewrite = rewriteBy(leg.parts, { kind: "tool_output", threadId: lease.threadId, assistantId })
        return checked(rewrite, runHosted(by.tool, by.args, call, { deadlines, settings }))
      }

      /** False: the call has begun a run that waits for approvals, so there is no output yet. */
      const answer = Effect.fnUntraced(function* (
        leg: Leg,
        call: ToolCall,
        output: Effect.Effect<string, never, Principal>
      ) {
        const startedAt = yield* Clock.currentTimeMillis
        const text = yield* output
        if (hasWaitingChild(leg, call)) return false
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
        return true
      })

      /** Answers the call, or says what it waits for. */
      const answerOrWait = Effect.fnUntraced(function* (leg: Leg, findTurn: FindTurn, call: ToolCall, found: Answerer) {
        if (found._tag === "Client") return "client"
        const hostedCall = { toolCallId: call.id, ...findTurn(found._tag === "Hosted" ? found.part : "") }
        const by = found._tag === "Hosted" ? yield* needsApproval(found, hostedCall, { deadlines, settings }) : found
        if (by._tag === "Approval") return "approval"
        return (yield* answer(leg, call, runAnswerer(leg, by, hostedCall))) ? "nobody" : "child"
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
            if (waits[index] === "approval")
              leg.log.push((sequence) => ({ _tag: "ApprovalRequired", sequence, call, expiresAt }))
          })
          return calls.filter((_, index) => waits[index] !== "nobody")
        }),

        runApproved: Effect.fnUntraced(function* (leg, findTurn, history) {
          const { answered } = leg
          const approved = answered?.results.filter(({ isPending }) => isPending === true) ?? []
          if (answered === undefined || approved.length === 0) return history
          leg.log.push((sequence) => ({ _tag: "ApprovedCallsBegan", sequence }))
          yield* leg.tail.stored
          yield* Effect.forEach(
            approved,
            ({ decided, toolCallId, toolName: name }) => {
              const written = answered.calls.find(({ id }) => id === toolCallId)?.arguments ?? ""
              const call = { id: toolCallId, name, arguments: decided?.arguments ?? written }
              const by = findAnswerer(call, noTools, leg.hosted, true)
              if (by._tag === "Client") return Effect.void
              const part = by._tag === "Hosted" ? by.part : ""
              return answer(leg, call, runAnswerer(leg, by, { toolCallId, ...findTurn(part) }))
            },
            { concurrency: settings.hostedConcurrency, discard: true }
          )
          const ran = recordLeg(leg.log.events, counter).approvedResults
          return withResults(history, leg.lease.runId, approvedResults(answered.results, ran, counter))
        })
      })
    })
  )
}

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

/** An output that a part could not rewrite is withheld from the model. */
const checked = (
  rewrite: Rewrite | null,
  output: Effect.Effect<string, never, Principal>
): Effect.Effect<string, never, Principal> =>
  rewrite === null
    ? output
    : Effect.catchCause(Effect.flatMap(output, rewrite), (cause) =>
        Effect.as(
          Effect.logError("The output of a hosted tool could not be rewritten", cause),
          "Error: the output of this tool could not be checked and is withheld. Answer without it."
        )
      )

/** The hosted tools of a voice session: they run in parallel, each in a fiber that can be stopped. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Deferred from "effect/Deferred"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { Charge } from "../metering/Charge.ts"
import { beginOutside } from "../metering/ChargeOutside.ts"
import { makeDayBudget } from "../metering/DayBudget.ts"
import { Metering } from "../metering/Metering.ts"
import type { EndCharge } from "../metering/PaidCall.ts"
import type { QuotaStore } from "../metering/QuotaStore.ts"
import { UsageLedger } from "../metering/UsageLedger.ts"
import { MessageId } from "../primitives/Ids.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import type { HostedCall } from "../tools/HostedTool.ts"
import type { ToolCall } from "../tools/ToolCall.ts"
import { rejection } from "../tools/ToolRoundTrip.ts"
import { findAnswerer, HostedCalls } from "../turns/HostedCalls.ts"
import type { Opening } from "./SessionAdmission.ts"
import type { CallDecision, Input } from "./SessionSteps.ts"

/** The functions of the session that hosted calls need. */
export interface CallSurroundings {
  readonly input: (input: Input) => void
  readonly kept: (toolCallId: string, part: string) => Schema.Json | null
  readonly spend: (charge: Charge) => void
}

export interface RunningTools {
  readonly start: (call: ToolCall) => void
  /** Continues a call that waits for an approval. */
  readonly decide: (decision: CallDecision) => void
  readonly stop: (ids: ReadonlyArray<string>) => void
  readonly stopAll: Effect.Effect<void>
}

export class SessionTools extends Context.Service<
  SessionTools,
  {
    readonly begin: (opening: Opening, surroundings: CallSurroundings) => Effect.Effect<RunningTools, never, Principal>
  }
>()("@colloquy/core/realtime/SessionTools") {
  static readonly layer: Layer.Layer<SessionTools, never, UsageLedger | ThreadStore | QuotaStore | HostedCalls> =
    Layer.effect(
      SessionTools,
      Effect.gen(function* () {
        const ledger = yield* UsageLedger
        const metering = yield* Metering
        const { credit } = yield* makeDayBudget
        const threads = yield* ThreadStore
        const hosted = yield* HostedCalls

        const begin = Effect.fnUntraced(function* (
          { held, place, plan, request }: Opening,
          { input, kept, spend }: CallSurroundings
        ) {
          const run = Effect.runForkWith(yield* Effect.context<Principal>())
          const running = new Map<string, Fiber.Fiber<void>>()
          const undecided = new Map<string, Deferred.Deferred<CallDecision>>()
          const tools = new Map(plan.hosted.map((offered) => [offered.tool.definition.name, offered]))
          const { assistantId, id: threadId } = place.thread
          const runCall = (call: ToolCall) => {
            const answerer = findAnswerer(call, new Set(), tools, true)
            if (answerer._tag !== "Hosted") return Effect.succeed(answerer._tag === "Refused" ? answerer.output : "")
            const { part } = answerer
            const toolCallId = call.id
            const from: HostedCall = {
              toolCallId,
              threadId,
              assistantId,
              runId: held.lease.sessionId,
              answerId: MessageId.make(held.lease.sessionId),
              // A spoken conversation has no single message that a tool call belongs to.
              content: "",
              metadata: null,
              rewriting: null,
              provider: request.provider,
              model: request.model,
              tell: ({ data, type }) => {
                if (type === mediaGenerated && isObject(data)) input({ _tag: "MediaMade", toolCallId, media: [data] })
              },
              keep: (value) => input({ _tag: "Kept", toolCallId, part, value }),
              kept: () => kept(toolCallId, part),
              spend,
              // What it cost is stored with the session, soon after its end.
              beginCharge: (payee) =>
                beginOutside(
                  { ledger, metering },
                  { runId: null, assistantId }
                )(payee).pipe(
                  Effect.map((end): EndCharge => (charges) => {
                    charges.forEach(spend)
                    return Effect.ignore(end([]))
                  }),
                  Effect.catchTag("StoreUnavailable", () =>
                    Effect.succeed<EndCharge>((charges) => Effect.sync(() => charges.forEach(spend)))
                  )
                ),
              beginRun: () => Effect.succeed(null),
              handOver: () => Effect.succeed("A voice session cannot be handed over."),
              journal: (fields) => Effect.asVoid(threads.mergeMetadata(threadId, fields)),
              ensureCredit: (need) => credit(need, assistantId)
            }
            const runTool = (by: Pick<typeof answerer, "args" | "tool">) =>
              Effect.map(hosted.run(by, from), (output) => (typeof output === "string" ? output : withoutAnswer))
            const approved = Effect.suspend(() => {
              const decided = Deferred.makeUnsafe<CallDecision>()
              undecided.set(toolCallId, decided)
              input({ _tag: "ApprovalNeeded", toolCallId })
              return Effect.flatMap(Deferred.await(decided), ({ isApproved, reason }) =>
                isApproved ? runTool(answerer) : Effect.succeed(rejection(reason ?? undefined))
              )
            })
            return Effect.flatMap(hosted.needsApproval(answerer, from), (by) => {
              if (by._tag === "Approval") return request.approvals === true ? approved : Effect.succeed(withoutApproval)
              return by._tag === "Refused" ? Effect.succeed(by.output) : runTool(by)
            })
          }
          const stop = (ids: ReadonlyArray<string>): void => {
            for (const id of ids) running.get(id)?.interruptUnsafe()
          }
          return {
            start: (call: ToolCall): void => {
              // What a call tells is decided separately, after the decision that started the call.
              const answered = Effect.andThen(
                Effect.yieldNow,
                Effect.map(runCall(call), (output) => {
                  running.delete(call.id)
                  input({ _tag: "HostedDone", toolCallId: call.id, output })
                })
              )
              running.set(call.id, run(answered))
            },
            decide: (decision: CallDecision): void => {
              const waiting = undecided.get(decision.toolCallId)
              undecided.delete(decision.toolCallId)
              if (waiting !== undefined) Deferred.doneUnsafe(waiting, Effect.succeed(decision))
            },
            stop,
            stopAll: Effect.sync(() => stop([...running.keys()]))
          }
        })

        return SessionTools.of({ begin })
      })
    )
}

/** The output of a call that needs an approval, for a client that cannot ask a person. */
const withoutApproval =
  "Error: not run. A person has to approve this call first, and that is not possible in a voice session. Tell the user to ask for it in writing."

const withoutAnswer =
  "Error: not done. The tool asks a person for something in writing, and that is not possible in a voice session. Tell the user to ask for it in writing."

/** The event by which a part announces a medium, as in a turn. */
const mediaGenerated = "media_generated"

const isObject = Schema.is(Schema.JsonObject)

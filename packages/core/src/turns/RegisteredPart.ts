/**
 * Makes of a part what turns use: every step is there, with its options, its plan, its time limit, and what happens when the step fails.
 * Only the part itself knows the type of its plan; turns store it as JSON. A part may be the host's code, or may call a provider, a store or a
 * service of the host. Before anything is stored, a step that is too slow refuses the turn and names the part. Afterwards a step that fails or
 * is too slow is left out, with a line in the server's log, unless it checks or makes the answer. `speak` is limited in `Speaking`, because all
 * parts speak in one time.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import type { Assistant } from "../assistants/Assistant.ts"
import type { InsufficientCredit } from "../metering/Metering.ts"
import { ModelError } from "../models/ModelError.ts"
import type { DeadlinesPort } from "../primitives/Deadlines.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import type { RenderedMessage } from "../prompts/PromptMessages.ts"
import { PromptPart } from "../prompts/PromptPart.ts"
import { type FollowUpOrder, readOrders } from "../runs/FollowUp.ts"
import type { History, Message } from "../threads/Message.ts"
import { readSupplement } from "../threads/Supplement.ts"
import type { HostedTool } from "../tools/HostedTool.ts"
import { type LiveTurn, TextWithheld } from "../tools/LiveTurn.ts"
import { type BoundReview, ReviewFailed } from "./ReviewVerdict.ts"
import { TurnRefused } from "./TurnErrors.ts"
import type { Review } from "./Review.ts"
import type { Rewrite, TextSource } from "./Rewrite.ts"
import type {
  Heard,
  Listening,
  ModelOutput,
  PartAnswer,
  PartDecision,
  Reading,
  SavedMessage,
  SessionShare,
  SettledLeg,
  TurnCase,
  TurnPart
} from "./TurnPart.ts"
import type { TurnSettings } from "./TurnSettings.ts"
import type { WantedOutput } from "./WantedOutput.ts"

type Times = Pick<
  TurnSettings,
  "chat" | "decideTimeout" | "hostedToolTimeout" | "listenTimeout" | "recallTimeout" | "reviewTimeout"
>

export type PartError = TurnRefused | InsufficientCredit | StoreUnavailable

/** What a part recalled, or a note that says why it recalled nothing. */
export interface Recollection {
  readonly part: string
  readonly prompt: ReadonlyArray<PromptPart>
  readonly note: string | null
}

/** The note of what could not be rewritten. */
export const notChecked = "it could not be checked"

/** A part as turns use it. An interface, because a declaration file names one and would repeat a type, with names that are not there. */
export interface RegisteredPart extends ReturnType<typeof registeredPart> {}

/** The steps of a part that need its plan of one run. */
export interface PlannedPart extends NonNullable<ReturnType<RegisteredPart["planned"]>> {}

const refusals = ["TurnRefused", "InsufficientCredit", "StoreUnavailable"]

const nothingRendered: RenderedMessage = { content: [], before: [], after: [] }

/** Every step is called on the part itself, which may be an object of a class. */
export const registeredPart = <Plan>(part: TurnPart<Plan>, times: Times, { within }: DeadlinesPort) => {
  const { limits = {}, name } = part
  const { decide: decideTime = times.decideTimeout, listen: listenTime = times.listenTimeout } = limits
  const decodePlan = Schema.decodeUnknownOption(part.plan)
  const encodePlan = Schema.encodeEffect(part.plan)

  /** Whether the part has this step: asked where the answer decides something, such as who hears a message, or where a turn without the step costs less. */
  const has = (step: keyof TurnPart<Plan>): boolean => part[step] !== undefined

  const own = (turn: TurnCase): TurnCase => ({ ...turn, options: turn.request.options?.[name] })

  const tooSlow = (did: string, time: Duration.Input) =>
    `The part "${name}" did not ${did} within ${Duration.format(Duration.fromInputUnsafe(time))}.`

  /** A part may be written without types. An error of a kind that the step may not have is a defect, told with the name of the part. */
  const withErrors =
    (did: string, kinds: ReadonlyArray<string>) =>
    <A, E, R>(step: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.catch(step, (error) =>
        kinds.some((kind) => Predicate.isTagged(error, kind))
          ? Effect.fail(error)
          : Effect.die(
              new TypeError(`The part "${name}" failed to ${did} with an error that is no ${kinds.join(" or ")}`, {
                cause: error
              })
            )
      )

  /** Nothing is stored yet. */
  const orRefuse =
    (did: string, time: Duration.Input) =>
    <A, E, R>(step: () => Effect.Effect<A, E, R>): Effect.Effect<A, E | TurnRefused, R> =>
      Effect.suspend(() =>
        within(time, withErrors(did, refusals)(step()), () => {
          const problems = [{ path: [], message: `${tooSlow(did, time)} Nothing was stored; send the message again.` }]
          return Effect.fail(new TurnRefused({ part: name, reason: "part_timeout", problems }))
        })
      )
  const orDie =
    (did: string, time: Duration.Input) =>
    <A, E, R>(step: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.suspend(() => within(time, step(), () => Effect.die(new Error(tooSlow(did, time)))))

  const recallTimeWithGuards = Duration.sum(
    Duration.fromInputUnsafe(times.recallTimeout),
    Duration.fromInputUnsafe(times.decideTimeout)
  )

  const toRewrite = orRefuse("rewrite a text", decideTime)
  const toListen = orRefuse("turn the message into text", listenTime)
  const toRefuse = orRefuse("check the message", decideTime)
  const toDecide = orRefuse("decide", decideTime)
  const toJoin = orDie("join a voice session", decideTime)
  const toRender = orDie("render a message", times.recallTimeout)
  const toReceive = orDie("keep media", times.hostedToolTimeout)

  const kept = <Kept extends { readonly supplement?: Schema.Json }>(made: Kept | null | undefined): Kept | null => {
    if (made?.supplement !== undefined) mustBeJson(name, made.supplement)
    return made ?? null
  }

  const failed =
    (did: string) =>
    <A>(instead: A) =>
    (cause: Cause.Cause<unknown>): Effect.Effect<A> =>
      Effect.as(Effect.logError(`The part "${name}" could not ${did}`, cause), instead)

  const recollection = (prompt: ReadonlyArray<PromptPart>, note: string | null = null): Recollection => ({
    part: name,
    prompt,
    note
  })

  const rewrite = (text: string, source: TextSource): Effect.Effect<string, PartError, Principal> =>
    Effect.flatMap(
      toRewrite(() => part.rewrite?.(text, source) ?? Effect.succeed(text)),
      (rewritten) => (typeof rewritten === "string" ? Effect.succeed(rewritten) : Effect.die(noText(name)))
    )

  /** A fault of the part is a verdict: nothing that was not reviewed is told. */
  const bindReview = (plan: Plan, turn: LiveTurn): BoundReview => {
    const withheld = (cause: Cause.Cause<unknown>) =>
      Effect.as(
        Effect.logError(`The part "${name}" could not review the answer of run ${turn.runId}`, cause),
        new ReviewFailed({ isLate: false })
      )
    const late = () =>
      Effect.as(
        Effect.logError(`${tooSlow("review the answer", times.reviewTimeout)} Run ${turn.runId} ends`),
        new ReviewFailed({ isLate: true })
      )
    let review: Review | null = null
    const judge: BoundReview["judge"] = (piece) => {
      const judged = Effect.flatMap(
        Effect.suspend(() => review?.judge(piece) ?? Effect.die(new Error("The step gave no review"))),
        checkVerdict
      )
      return Effect.catchCause(within(times.reviewTimeout, judged, late), withheld)
    }
    try {
      review = part.review?.(plan, turn) ?? null
      if (review !== null && !pieceEnds.has(review.by)) throw unknownPieces(name, review.by)
      return { by: review?.by ?? "whole", judge }
    } catch (fault) {
      return { by: "whole", judge: () => withheld(Cause.die(fault)) }
    }
  }

  const bind = (plan: Plan) => {
    const offered = part.tools?.(plan) ?? []
    const tools = offered.filter((tool): tool is HostedTool => typeof tool !== "string")
    return {
      name,
      has,
      rewrite,
      review: (turn: LiveTurn): BoundReview => bindReview(plan, turn),
      tools,
      /** The tools that the model's vendor runs. */
      ownTools: offered.filter((tool) => typeof tool === "string"),
      replaceTool: (tool: HostedTool): HostedTool => part.replaceTool?.(plan, tool) ?? tool,
      output: (): WantedOutput | null => part.output?.(plan) ?? null,
      recall: (turn: LiveTurn, history: History): Effect.Effect<Recollection, never, Principal> => {
        const recalled = Effect.suspend(() => part.recall?.(plan, turn, history) ?? Effect.succeed([]))
        // Rewriting takes its own time.
        const time = turn.rewriting === null ? times.recallTimeout : recallTimeWithGuards
        return within(time, Effect.map(Effect.flatMap(recalled, checkPrompt), recollection), () =>
          Effect.succeed(recollection([], "it was not found in time"))
        ).pipe(
          Effect.catchCause((cause) =>
            Effect.as(
              Effect.logWarning(`The part "${name}" could not recall for run ${turn.runId}`, cause),
              recollection([], Cause.squash(cause) instanceof TextWithheld ? notChecked : "the search for it failed")
            )
          )
        )
      },
      /** The time limit is that of one answer of a model. */
      answer: (turn: LiveTurn, history: History): Effect.Effect<PartAnswer, ModelError, Principal> => {
        const fail = (reason: ModelError["reason"]) =>
          Effect.fail(new ModelError({ reason, provider: turn.provider, model: turn.model }))
        const answer = Effect.suspend(() => part.answer?.(plan, turn, history) ?? fail("invalid_request"))
        return within(times.chat.stepTimeout, withErrors("answer", ["ModelError"])(answer), () => fail("timeout"))
      },
      speak: (turn: LiveTurn, words: Stream.Stream<string>): Effect.Effect<void, never, Principal> =>
        Effect.suspend(() => part.speak?.(plan, turn, words) ?? Effect.void).pipe(
          Effect.catchCause((cause) => Effect.logWarning(`The part "${name}" could not speak`, cause))
        ),
      followUps: (ended: SettledLeg | SavedMessage): Effect.Effect<ReadonlyArray<FollowUpOrder>> =>
        readOrders(name, () => part.followUps?.(plan, ended) ?? []),
      /** A part without the step joins with its tools alone. */
      session: (assistantId: LiveTurn["assistantId"]): Effect.Effect<SessionShare, StoreUnavailable, Principal> =>
        toJoin(() =>
          withErrors("join a voice session", ["StoreUnavailable"])(
            part.session?.(plan, assistantId) ?? Effect.succeed({ tools, instructions: null })
          )
        )
    }
  }

  return {
    name,
    has,
    rewrite,
    rewriteOptions: (options: Schema.Json, by: Rewrite): Effect.Effect<Schema.Json, PartError, Principal> =>
      toListen(() => part.rewriteOptions?.(options, by) ?? Effect.succeed(options)),
    again: (options: Schema.Json): Schema.Json | undefined =>
      part.again === undefined ? options : part.again(options),
    concerns: (turn: TurnCase): boolean => part.concerns?.(own(turn)) ?? true,
    refuse: (turn: TurnCase): Effect.Effect<void, PartError, Principal> =>
      part.refuse === undefined ? Effect.void : toRefuse(() => part.refuse?.(own(turn)) ?? Effect.void),
    listen: (turn: TurnCase, listening: Listening): Effect.Effect<Heard | null, PartError, Principal> => {
      const mine = own(turn)
      if (part.listen === undefined || mine.options === undefined) return Effect.succeed(null)
      return Effect.map(
        toListen(() => part.listen?.(mine, listening) ?? Effect.succeed(null)),
        kept
      )
    },
    decide: Effect.fnUntraced(function* (
      turn: TurnCase
    ): Effect.fn.Return<PartDecision<Schema.Json> | null, PartError, Principal> {
      const decision = kept(yield* toDecide(() => part.decide(own(turn))))
      if (decision === null) return null
      return { ...decision, plan: yield* Effect.orDie(encodePlan(decision.plan)) }
    }),
    /** A message that the part cannot read is without the part's content, in this turn and in later ones. */
    render: (message: Message, reading: Reading): Effect.Effect<RenderedMessage, never, Principal> => {
      const supplement = readSupplement(message, name)
      if (supplement === null || part.render === undefined) return Effect.succeed(nothingRendered)
      const rendered = toRender(() => part.render?.(supplement.value, message, reading) ?? Effect.succeed({}))
      return rendered.pipe(
        Effect.map((made) => ({ ...nothingRendered, ...made })),
        Effect.catchCause(failed(`read message ${message.id}`)(nothingRendered))
      )
    },
    receive: (output: ModelOutput, turn: LiveTurn): Effect.Effect<boolean | undefined, never, Principal> =>
      toReceive(() => part.receive?.(output, turn) ?? Effect.succeed(undefined)).pipe(
        Effect.catchCause(failed("keep the media or sources of the model's answer")(false))
      ),
    /** Null: the plan stays. */
    handOver: (assistant: Assistant, isOwn: boolean): Schema.Json | null =>
      part.handOver === undefined ? null : Schema.encodeSync(part.plan)(part.handOver(assistant, isOwn)),
    /** Null when this version cannot read the plan. */
    planned: (stored: Schema.Json) => Option.getOrNull(Option.map(decodePlan(stored), bind))
  }
}

const checkVerdict = Schema.decodeEffect(
  Schema.Union([
    Schema.Struct({ _tag: Schema.Literal("Pass") }),
    Schema.Struct({ _tag: Schema.Literal("Change"), text: Schema.String }),
    Schema.Struct({ _tag: Schema.Literal("Stop"), reason: Schema.String }),
    Schema.Struct({ _tag: Schema.Literal("Replace"), text: Schema.String })
  ])
)

const pieceEnds: ReadonlySet<unknown> = new Set<Review["by"]>(["sentence", "whole"])

const unknownPieces = (part: string, by: unknown) =>
  new TypeError(`The part "${part}" reviews by "${String(by)}". It must be "sentence" or "whole".`)

const noText = (part: string) => new TypeError(`The part "${part}" rewrote a text to something that is no text`)

const checkPrompt = Schema.decodeEffect(Schema.Array(PromptPart))

const isJson = Schema.is(Schema.Json)

/** One event that cannot be written would take the whole log of the run with it. The fault belongs to the part that makes it. */
export const mustBeJson = (part: string, data: unknown): void => {
  if (!isJson(data)) throw new TypeError(`The part "${part}" told or kept something that is no JSON`)
}

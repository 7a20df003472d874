/**
 * *** How a message turn flows. ***
 *
 * `start` reads top to bottom as the nine steps of a turn; each step is one function, pure where it decides and short where it acts:
 *
 *   1 admit      who asks, which thread, may it be spent                Principal, AssistantStore, Metering
 *   2 listen     voice in -> content                                    (voice room)
 *   3 plan       assistant + request + model -> plan, or a refusal      TurnPlan
 *   4 write      the user's message and the run, one transaction        RunStore.begin
 *   5 recall     memories and excerpts for this content                 (memory and retrieval rooms)
 *   6 assemble   one request that fits the window                       PromptAssembly, ContextWindow
 *   7 converse   model <-> hosted tools                                 ModelLoop
 *   8 settle     log -> message + run + usage, one transaction          TurnRecorder, Settlement
 *   9 remember   new facts; speak the answer when asked                 (memory and voice rooms)
 *
 * Steps 6 to 9 run in the kernel's scope (`LegRunner`): a client that goes away changes nothing. Tool outputs enter at step 6 (`ToolOutputs`).
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import { type Assistant, AssistantNotFound } from "../assistants/Assistant.ts"
import { AssistantStore } from "../assistants/AssistantStore.ts"
import { newAssistant } from "../assistants/Assistants.ts"
import type { Catalog } from "../catalog/Catalog.ts"
import { chatCredit, type InsufficientCredit } from "../metering/Metering.ts"
import type { ModelNotNamed, ProviderNotFound, Providers } from "../models/Provider.ts"
import { AssistantId, newId, type RunId, ThreadId } from "../primitives/Ids.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { type Run, RunNotFound } from "../runs/Run.ts"
import type { RunStore } from "../runs/RunStore.ts"
import { type Thread, ThreadNotFound } from "../threads/Thread.ts"
import { ThreadStore } from "../threads/ThreadStore.ts"
import { cancelRun } from "./Cancellation.ts"
import type { Explanation } from "../prompts/Explanation.ts"
import type { ContextTooLong } from "../prompts/ContextTooLong.ts"
import { checkRoom, preambleOf, roomFor } from "../prompts/PromptAssembly.ts"
import { decodeExplanation } from "./Settlement.ts"
import type { StartedTurn } from "./StartedTurn.ts"
import { type SubmitError, submitToolOutputs } from "./ToolOutputs.ts"
import type { EmptyMessage, IdempotencyConflict, ShuttingDown, ThreadBusy, ToolNameTaken } from "./TurnErrors.ts"
import type { TurnEvent } from "./TurnEvent.ts"
import { chooseModel, decodePlan, type IgnoredOption, planTurn } from "./TurnPlan.ts"
import type { TurnReply } from "./TurnReply.ts"
import type { ToolOutputsRequest, TurnRequest } from "./TurnRequest.ts"
import { makeWorkshop, type Workshop } from "./Workshop.ts"
import { type Place, writeTurn } from "./WriteTurn.ts"

export type StartError =
  | AssistantNotFound
  | ThreadNotFound
  | ThreadBusy
  | EmptyMessage
  | ToolNameTaken
  | ContextTooLong
  | ProviderNotFound
  | ModelNotNamed
  | InsufficientCredit
  | IdempotencyConflict
  | ShuttingDown
  | StoreUnavailable

/** What a host may want to know of a run beside its record. */
export interface RunReport {
  readonly run: Run
  readonly ignored: ReadonlyArray<IgnoredOption>
  /** Null until the leg that made it is settled. */
  readonly explanation: Explanation | null
}

export class Turns extends Context.Service<
  Turns,
  {
    /** Begins a turn. When this succeeds, the user's message and the run are stored; when it fails, nothing is. */
    readonly start: (request: TurnRequest) => Effect.Effect<StartedTurn, StartError, Principal>
    /** Begins a turn and waits for its reply. */
    readonly send: (request: TurnRequest) => Effect.Effect<TurnReply, StartError, Principal>
    /** Goes on with a run that waits for the client's tool outputs. */
    readonly submitToolOutputs: (request: ToolOutputsRequest) => Effect.Effect<StartedTurn, SubmitError, Principal>
    /** Ends a run; what was said is kept. Idempotent: an ended run stays as it is. */
    readonly cancel: (threadId: ThreadId, runId: RunId) => Effect.Effect<Run, RunNotFound | StoreUnavailable, Principal>
    /** The events of a run after a sequence number, to the next terminal one. From any process. */
    readonly follow: (
      threadId: ThreadId,
      runId: RunId,
      after: number
    ) => Effect.Effect<Stream.Stream<TurnEvent, StoreUnavailable>, RunNotFound | StoreUnavailable, Principal>
    readonly report: (
      threadId: ThreadId,
      runId: RunId
    ) => Effect.Effect<RunReport, RunNotFound | StoreUnavailable, Principal>
    /** Refuses new turns from now on and waits for the running ones, for as long as `drainTimeout` allows. */
    readonly drain: Effect.Effect<void>
  }
>()("@colloquy/core/turns/Turns") {
  static readonly layer: Layer.Layer<Turns, never, AssistantStore | ThreadStore | RunStore | Providers | Catalog> =
    Layer.effect(
      Turns,
      Effect.gen(function* () {
        const assistants = yield* AssistantStore
        const threads = yield* ThreadStore
        const workshop = yield* makeWorkshop

        const begin = Effect.fnUntraced(function* (request: TurnRequest) {
          const repeated = yield* workshop.findRepeated(request.idempotency)
          if (Option.isSome(repeated)) return repeated.value

          const place = yield* admit(assistants, workshop, request)
          const decided = yield* decide(workshop, request, place.assistant)
          if (request.sendToModel !== false) yield* workshop.metering.ensureCredit(chatCredit)

          return yield* Effect.uninterruptibleMask((restore) =>
            keepPlace(assistants, threads, place).pipe(
              Effect.andThen(writeTurn(workshop, { request, place, ...decided }, restore)),
              Effect.tap((turn) =>
                turn.threadId === place.thread.id ? Effect.void : dropPlace(assistants, threads, place)
              ),
              Effect.onError(() => dropPlace(assistants, threads, place))
            )
          )
        })

        const start = Effect.fn("Turns.start")((request: TurnRequest) => workshop.admit(begin(request)))

        const findRun = Effect.fnUntraced(function* (threadId: ThreadId, runId: RunId) {
          const run = yield* workshop.store.get(runId)
          if (Option.isNone(run) || run.value.threadId !== threadId) return yield* new RunNotFound({ runId })
          return run.value
        })

        return Turns.of({
          start,
          send: (request) => Effect.flatMap(start({ ...request, stream: false }), (turn) => turn.reply),
          submitToolOutputs: Effect.fn("Turns.submitToolOutputs")((request: ToolOutputsRequest) =>
            workshop.admit(submitToolOutputs(workshop, request))
          ),
          cancel: Effect.fn("Turns.cancel")(function* (threadId: ThreadId, runId: RunId) {
            yield* findRun(threadId, runId)
            yield* cancelRun(workshop, runId)
            return yield* findRun(threadId, runId)
          }),
          follow: Effect.fn("Turns.follow")(function* (threadId: ThreadId, runId: RunId, after: number) {
            yield* findRun(threadId, runId)
            return yield* workshop.eventsOf(runId, after)
          }),
          report: Effect.fn("Turns.report")(function* (threadId: ThreadId, runId: RunId) {
            const run = yield* findRun(threadId, runId)
            return { run, ignored: decodePlan(run.plan).ignored, explanation: decodeExplanation(run.explanation) }
          }),
          drain: workshop.drain
        })
      })
    )
}

/** Step 1. A given thread wins over a given assistant; without both, both are made, in memory until the plan is accepted. */
const admit = Effect.fnUntraced(function* (
  store: typeof AssistantStore.Service,
  workshop: Workshop,
  request: TurnRequest
) {
  if (request.threadId !== undefined) {
    const found = yield* store.ofThread(request.threadId)
    if (Option.isNone(found)) return yield* new ThreadNotFound({ threadId: request.threadId })
    return { ...found.value, isNewAssistant: false, isNewThread: false }
  }
  const at = new Date(yield* Clock.currentTimeMillis)
  const assistant =
    request.assistantId === undefined
      ? newAssistant(yield* newId(AssistantId), { name: "Assistant", embedding: workshop.embedding }, at)
      : yield* findAssistant(store, request.assistantId)
  const threadId = yield* newId(ThreadId)
  const thread: Thread = { id: threadId, assistantId: assistant.id, metadata: null, createdAt: at, updatedAt: at }
  return { assistant, thread, isNewAssistant: request.assistantId === undefined, isNewThread: true }
})

const findAssistant = Effect.fnUntraced(function* (store: typeof AssistantStore.Service, id: AssistantId) {
  const found = yield* store.get(id)
  return Option.isSome(found) ? found.value : yield* new AssistantNotFound({ assistantId: id })
})

/** Step 3. Everything that can be refused is refused here, before anything is stored. */
const decide = Effect.fnUntraced(function* (workshop: Workshop, request: TurnRequest, assistant: Assistant) {
  const { providers, hosted, counter, settings } = workshop
  const choice = yield* Effect.fromResult(chooseModel(request, assistant, providers))
  const model = yield* providers.resolve(choice.provider, choice.model)
  const plan = yield* Effect.fromResult(planTurn({ request, assistant, model, hosted }))
  const messageTokens = counter.count(request.content)
  if (request.sendToModel !== false) {
    const tools = hosted.map((tool) => tool.definition).filter((tool) => plan.hosted.includes(tool.name))
    const preamble = preambleOf(plan.system, [...tools, ...plan.tools], counter)
    yield* Effect.fromResult(
      checkRoom(preamble, messageTokens, roomFor(model.info, settings.assumedContextLimit), model.model)
    )
  }
  return { plan, model, messageTokens, apiKey: yield* workshop.providerKeys.find(model.provider) }
})

const keepPlace = Effect.fnUntraced(function* (
  assistants: typeof AssistantStore.Service,
  threads: typeof ThreadStore.Service,
  place: Place
) {
  if (place.isNewAssistant) yield* assistants.insert(place.assistant)
  if (place.isNewThread && !(yield* threads.insert(place.thread))) {
    return yield* new AssistantNotFound({ assistantId: place.assistant.id })
  }
})

/** The turn was refused after all, or repeats one that began elsewhere in the same moment: what was made for it goes again. */
const dropPlace = (assistants: typeof AssistantStore.Service, threads: typeof ThreadStore.Service, place: Place) => {
  if (!place.isNewThread) return Effect.void
  const made = place.isNewAssistant ? assistants.remove(place.assistant.id) : threads.remove(place.thread.id)
  return Effect.ignore(made)
}

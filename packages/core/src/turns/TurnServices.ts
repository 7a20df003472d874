/**
 * Builds the services of a turn. Each service declares its dependencies and is built once per kernel. None of them belongs to the public
 * API.
 */
import * as Layer from "effect/Layer"
import type { Catalog } from "../catalog/Catalog.ts"
import type { Providers } from "../models/Provider.ts"
import { inWholeTokens } from "../models/TokenCounter.ts"
import { Deadlines } from "../primitives/Deadlines.ts"
import type { FollowUps } from "../runs/FollowUps.ts"
import type { RunStore } from "../runs/RunStore.ts"
import type { RecalledTexts } from "../threads/RecalledTexts.ts"
import type { ThreadStore } from "../threads/ThreadStore.ts"
import type { HostedTools } from "../tools/HostedTool.ts"
import { Admissions } from "./Admissions.ts"
import { AnswerCalls } from "./AnswerCalls.ts"
import { AnswerByPart } from "./AnswerByPart.ts"
import { ChildAnswers } from "./ChildAnswers.ts"
import { Cancellation } from "./Cancellation.ts"
import { Decide } from "./Decide.ts"
import { Decisions } from "./Decisions.ts"
import { Drafts } from "./Drafts.ts"
import { EarlyStream } from "./EarlyStream.ts"
import { EndLeg } from "./EndLeg.ts"
import { Followers } from "./Followers.ts"
import { HandOvers } from "./HandOvers.ts"
import { HostedCalls } from "./HostedCalls.ts"
import { Instead } from "./Instead.ts"
import { LiveTurns } from "./LiveTurns.ts"
import { ModelLoop } from "./ModelLoop.ts"
import { PlaceRecords } from "./Place.ts"
import { OpenCalls } from "./OpenCalls.ts"
import { Places } from "./Places.ts"
import { QueueTurn } from "./QueueTurn.ts"
import { Recall } from "./Recall.ts"
import { Recovery } from "./Recovery.ts"
import { Repeats } from "./Repeats.ts"
import { resumedRuns } from "./ResumedRuns.ts"
import { Resumption } from "./Resumption.ts"
import { RunLeg } from "./RunLeg.ts"
import { LegFibers, RunningTurns, TurnLogs, TurnSignals } from "./RunningTurns.ts"
import { Settlements } from "./Settlements.ts"
import { Speaking } from "./Speaking.ts"
import { ToolOutputs } from "./ToolOutputs.ts"
import { TurnBudgets } from "./TurnBudget.ts"
import { TurnModels } from "./TurnModels.ts"
import type { TurnParts } from "./TurnParts.ts"
import { readTurnSettings } from "./TurnSettings.ts"
import { WaitingCalls } from "./WaitingCalls.ts"
import { WriteTurn } from "./WriteTurn.ts"

/** The ports and services that the services of a turn need. */
export type TurnPorts =
  | RunStore
  | ThreadStore
  | RecalledTexts
  | Providers
  | Catalog
  | TurnParts
  | HostedTools
  | FollowUps

/** The state of this process. */
const running = Layer.mergeAll(TurnSignals.layer, TurnLogs.layer, Admissions.layer).pipe(
  Layer.provideMerge([RunningTurns.layer, LegFibers.layer])
)

/** Steps 5 to 8. */
const leg = RunLeg.layer.pipe(
  Layer.provide([Recall.layer, ModelLoop.layer, AnswerByPart.layer, Speaking.layer, EndLeg.layer]),
  Layer.provide(AnswerCalls.layer),
  Layer.provide(HostedCalls.layer),
  Layer.provide(LiveTurns.layer)
)

/** The services that act on a run from outside of its leg. */
const aroundRuns = Layer.mergeAll(Cancellation.layer, Repeats.layer).pipe(
  Layer.provideMerge(Followers.layer),
  Layer.provideMerge(Recovery.layer)
)

/** Steps 1 to 4, and answers to open calls. */
const beginnings = Layer.mergeAll(
  Places.layer.pipe(Layer.provideMerge(PlaceRecords.layer)),
  Drafts.layer.pipe(Layer.provide(EarlyStream.layer)),
  WriteTurn.layer,
  Layer.mergeAll(ToolOutputs.layer, Decisions.layer, resumedRuns).pipe(
    Layer.provide(ChildAnswers.layer),
    Layer.provide(OpenCalls.layer)
  ),
  WaitingCalls.layer,
  Decide.layer,
  Instead.layer
).pipe(Layer.provide([QueueTurn.layer, TurnBudgets.layer]))

export const turnServices = beginnings.pipe(
  Layer.provideMerge([leg, aroundRuns]),
  Layer.provideMerge(HandOvers.layer),
  Layer.provideMerge(TurnModels.layer),
  Layer.provideMerge([running, Resumption.layer]),
  Layer.provideMerge(Settlements.layer),
  Layer.provideMerge(Deadlines.layer),
  Layer.provideMerge([readTurnSettings, inWholeTokens])
)

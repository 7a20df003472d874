/** From records of evals to those of the wire, and back. */
import { AssistantId } from "@colloquy/core"
import {
  askedFromFields,
  attemptsIn,
  type EvalCase,
  type ExperimentResult,
  type ExperimentState,
  fieldsFromAsked,
  type Feedback,
  type JudgeCalibration,
  type JudgeOutcome,
  type NewCase,
  type OnlineGroup,
  type OnlineReport,
  type RatedScore,
  resultRecord
} from "@colloquy/core/wings"
import { compact, given, writeTimestamp } from "../wire/Fields.ts"
import { toolFromWire, toolToWire } from "../wire/Tools.ts"
import { modelOptionsToWire } from "./Encode.ts"
import type * as Wire from "../wire/EvalRecords.ts"

type Message = EvalCase["messages"][number]

const messageToWire = ({ content, role, toolCallId, toolCalls }: Message): Wire.EvalCase["messages"][number] => ({
  role,
  content,
  ...compact({
    tool_calls: toolCalls?.map(({ arguments: text, id, name }) => ({
      id,
      type: "function" as const,
      function: { name, arguments: text }
    })),
    tool_call_id: toolCallId
  })
})

const messageFromWire = ({ content = null, role, tool_call_id, tool_calls }: Wire.GivenMessage): Message => ({
  role,
  content,
  ...compact({
    toolCalls: given(tool_calls)?.map(({ function: called, id }) => ({ id, ...called })),
    toolCallId: given(tool_call_id)
  })
})

export const caseToWire = (evalCase: EvalCase): Wire.EvalCase => ({
  case_id: evalCase.id,
  name: evalCase.name,
  assistant_id: evalCase.assistantId,
  messages: evalCase.messages.map(messageToWire),
  question: evalCase.question,
  expectations: evalCase.expectations,
  tags: evalCase.tags,
  tools: evalCase.tools,
  tool_definitions: evalCase.toolDefinitions?.map(toolToWire) ?? null,
  instructions: evalCase.instructions ?? null,
  ...fieldsFromAsked(evalCase.options),
  source:
    evalCase.source === null ? null : { thread_id: evalCase.source.threadId, message_id: evalCase.source.messageId },
  created_at: writeTimestamp(evalCase.createdAt),
  updated_at: writeTimestamp(evalCase.updatedAt)
})

export const caseFromWire = (body: Wire.GivenCase): NewCase => ({
  question: body.question,
  ...compact({
    name: given(body.name),
    assistantId:
      body.assistant_id === undefined || body.assistant_id === null ? undefined : AssistantId.make(body.assistant_id),
    messages: given(body.messages)?.map(messageFromWire),
    expectations: given(body.expectations),
    tags: given(body.tags),
    tools: given(body.tools),
    toolDefinitions: given(body.tool_definitions)?.map(toolFromWire),
    instructions: given(body.instructions),
    options: askedFromFields(body)
  })
})

type Variant = ExperimentState["experiment"]["variants"][number]

const variantToWire = ({
  assistantId,
  assistantVersion,
  instructions,
  model,
  modelOptions,
  name,
  provider,
  retrieval
}: Variant): Wire.EvalVariant => ({
  name,
  ...compact({
    assistant_id: assistantId,
    assistant_version: assistantVersion,
    llm_provider: provider,
    model_name: model,
    model_options: modelOptions === undefined ? undefined : modelOptionsToWire(modelOptions),
    instructions,
    retrieval: retrieval && compact({ tok_k: retrieval.searchLimit, excerpts: retrieval.excerpts })
  })
})

export const experimentToWire = ({
  costUsd,
  done,
  endedAt,
  experiment,
  reason,
  status
}: ExperimentState): Wire.Experiment => ({
  experiment_id: experiment.id,
  name: experiment.name,
  status,
  reason,
  cases: experiment.caseIds.length,
  variants: experiment.variants.map(variantToWire),
  repeats: experiment.repeats,
  tools: experiment.tools,
  concurrency: experiment.concurrency,
  budget_usd: experiment.budgetUsd,
  expectations: experiment.expectations,
  attempts: { total: attemptsIn(experiment), done },
  cost_usd: costUsd,
  created_at: writeTimestamp(experiment.createdAt),
  ended_at: endedAt === null ? null : writeTimestamp(endedAt)
})

export const resultToWire = (result: ExperimentResult): Wire.Result => ({
  number: result.number,
  ...resultRecord(result),
  tool_calls: result.toolCalls,
  judges_cost_usd: result.judgesCostUsd,
  ended_at: writeTimestamp(result.endedAt)
})

export const feedbackToWire = (feedback: Feedback): Wire.Feedback => ({
  thread_id: feedback.threadId,
  message_id: feedback.messageId,
  run_id: feedback.runId,
  assistant_id: feedback.assistantId,
  assistant_version: feedback.assistantVersion,
  model_name: feedback.model,
  score: feedback.score,
  comment: feedback.comment,
  tags: feedback.tags,
  created_at: writeTimestamp(feedback.createdAt)
})

const calibrationToWire = ({
  brierScore,
  calibrationError,
  cases,
  reliability
}: NonNullable<JudgeCalibration["feedback"]>) => ({
  cases,
  brier_score: brierScore,
  calibration_error: calibrationError,
  reliability
})

export const judgeToWire = ({
  expected,
  feedback,
  outcomes,
  questionSet
}: JudgeCalibration): Wire.OnlineReport["judges"][number] => ({
  expected,
  question_set: questionSet,
  feedback: feedback === null ? null : calibrationToWire(feedback),
  outcomes: outcomes === null ? null : calibrationToWire(outcomes)
})

export const judgeOutcomesToWire = (outcomes: ReadonlyArray<JudgeOutcome>): Wire.JudgeOutcomeList => ({
  outcomes: outcomes.map(({ recordedAt, ...same }) => ({ ...same, recorded_at: writeTimestamp(recordedAt) }))
})

const groupToWire = (group: OnlineGroup): Wire.OnlineReport["versions"][number] => ({
  assistant_id: group.assistantId,
  assistant_version: group.assistantVersion,
  turns: group.turns,
  unscored: group.unscored,
  passed: group.passed,
  pass_rate: group.passRate,
  interval: group.interval,
  score: group.score,
  scorers: group.scorers,
  cost_usd: group.costUsd,
  judges_cost_usd: group.judgesCostUsd,
  tokens: group.tokens,
  median_ms: group.medianMillis
})

const dayText = (at: Date) => at.toISOString().slice(0, 10)

export const onlineReportToWire = (report: OnlineReport): Wire.OnlineReport => ({
  share: report.share,
  expectations: report.expectations,
  from: dayText(report.from),
  to: dayText(report.to),
  days: report.days.map((group) => ({ day: group.day, ...groupToWire(group) })),
  versions: report.versions.map(groupToWire),
  judges: report.judges.map(judgeToWire),
  is_partial: report.isPartial
})

export const onlineScoreToWire = ({ feedback, score }: RatedScore): Wire.OnlineScore => ({
  run_id: score.runId,
  thread_id: score.threadId,
  message_id: score.messageIds.at(-1) ?? null,
  assistant_id: score.assistantId,
  assistant_version: score.assistantVersion,
  passed: score.passed,
  scores: score.scores,
  error: score.error,
  model_provider: score.provider,
  model_name: score.model,
  prompt_hash: score.promptHash,
  cost_usd: score.costUsd,
  judges_cost_usd: score.judgesCostUsd,
  ms: score.millis,
  tokens: score.tokens,
  feedback,
  ended_at: writeTimestamp(score.endedAt)
})

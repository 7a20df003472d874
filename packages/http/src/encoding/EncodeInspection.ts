/** The inside of a run in the words of the wire. */
import type { Charge, RunId } from "@colloquy/core"
import type { Inspection, RunStep } from "@colloquy/core/wings"
import { writeTimestamp } from "../wire/Fields.ts"
import type { RunInspection } from "../wire/InspectionRecords.ts"

const timestampOrNull = (millis: number | null): string | null =>
  millis === null ? null : writeTimestamp(new Date(millis))

const stepToWire = ({
  endedAt,
  kind,
  name,
  startedAt,
  toolCallId,
  usage
}: RunStep): RunInspection["steps"][number] => ({
  kind,
  name,
  tool_call_id: toolCallId,
  started_at: timestampOrNull(startedAt),
  ended_at: timestampOrNull(endedAt),
  input_tokens: usage?.inputTokens ?? null,
  output_tokens: usage?.outputTokens ?? null,
  cost_usd: usage?.costUsd ?? null
})

const chargeToWire = ({ model, provider, purpose, usage }: Charge): RunInspection["charges"][number] => ({
  purpose,
  model_provider: provider,
  model_name: model,
  input_tokens: usage.inputTokens,
  output_tokens: usage.outputTokens,
  cost_usd: usage.costUsd
})

export const inspectionToWire = (
  runId: RunId,
  { charges, children, failures, prompts, steps, summary }: Inspection
): RunInspection => ({
  run_id: runId,
  steps: steps.map(stepToWire),
  charges: charges.map(chargeToWire),
  failures: failures.map(({ at, code, model, provider, reason, requestId, said, status }) => ({
    at: timestampOrNull(at),
    model_provider: provider,
    model_name: model,
    reason,
    status,
    code,
    request_id: requestId,
    said
  })),
  prompts: prompts.map(({ estimatedTokens, inputTokens, parts }) => ({
    estimated_tokens: estimatedTokens,
    input_tokens: inputTokens,
    parts: parts.map(({ messages, part, ...own }) => ({ part, estimated_tokens: own.estimatedTokens, messages }))
  })),
  summary:
    summary === null
      ? null
      : {
          text: summary.text,
          messages: summary.throughSequence,
          through_message_id: summary.throughId ?? null,
          tokens: summary.tokens
        },
  helpers: children.map(({ inspection, name, threadId, toolCallId, ...child }) => ({
    tool_call_id: toolCallId,
    name,
    thread_id: threadId,
    run_id: child.runId,
    inspection: inspection === null ? null : inspectionToWire(child.runId, inspection)
  }))
})

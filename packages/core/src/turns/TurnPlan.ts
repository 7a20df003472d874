/**
 * Step 3 of a turn, pure: assistant + request + what is known of the model -> a plan, or a refusal. The plan is stored with the run, so
 * that whoever goes on after tool outputs, in whatever process, needs nothing else.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Assistant } from "../assistants/Assistant.ts"
import { Routing, Thinking } from "../models/ChatRequest.ts"
import type { ModelInfo } from "../models/ModelInfo.ts"
import type { ProvidersOptions } from "../models/Provider.ts"
import type { HostedTool } from "../tools/HostedTool.ts"
import { ToolDefinition } from "../tools/ToolDefinition.ts"
import { EmptyMessage, ToolNameTaken } from "./TurnErrors.ts"
import type { ToolOutputsRequest, TurnRequest } from "./TurnRequest.ts"

/** An option of the request that had no effect, and why. Shown with the run. */
export const IgnoredOption = Schema.Struct({ option: Schema.String, because: Schema.String })
export type IgnoredOption = typeof IgnoredOption.Type

export const TurnPlan = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  system: Schema.NullOr(Schema.String),
  /** Tools that the client runs. */
  tools: Schema.Array(ToolDefinition),
  /** Tools that the kernel runs, by name. */
  hosted: Schema.Array(Schema.String),
  thinking: Schema.NullOr(Thinking),
  routing: Schema.NullOr(Routing),
  jsonOutput: Schema.Boolean,
  ignored: Schema.Array(IgnoredOption),
  /** The message is only kept: no model is asked. */
  saves: Schema.optionalKey(Schema.Boolean)
})
export type TurnPlan = typeof TurnPlan.Type

/** Where the turn's model comes from: the request, then the assistant, then the host's defaults. A provider without a model keeps looking. */
export const chooseModel = (
  request: Pick<TurnRequest, "provider" | "model">,
  assistant: Pick<Assistant, "provider" | "model">,
  defaults: ProvidersOptions["defaults"]
): { readonly provider: string; readonly model: string } => ({
  provider: request.provider ?? assistant.provider ?? defaults.provider,
  model: request.model ?? assistant.model ?? defaults.model
})

export const planTurn = (input: {
  readonly request: TurnRequest
  readonly assistant: Assistant
  readonly info: ModelInfo
  readonly hosted: ReadonlyArray<HostedTool>
}): Result.Result<TurnPlan, EmptyMessage | ToolNameTaken> => {
  const { request, assistant, info } = input
  if (request.content.trim() === "") return Result.fail(new EmptyMessage())
  const tools = request.tools ?? assistant.tools ?? []
  const turn = {
    assistantId: assistant.id,
    metadata: request.metadata ?? null,
    jsonOutput: request.jsonOutput === true
  }
  const hosted = input.hosted.filter((tool) => tool.offered?.(turn) ?? true).map((tool) => tool.definition.name)
  const taken = tools.findIndex((tool) => hosted.includes(tool.name))
  if (taken !== -1) return Result.fail(new ToolNameTaken({ name: tools[taken]?.name ?? "", index: taken }))

  const ignored: Array<IgnoredOption> = []
  const jsonOutput = request.jsonOutput === true && tools.length === 0 && hosted.length === 0
  if (request.jsonOutput === true && !jsonOutput) ignored.push({ option: "json_output", because: "tools are active" })
  if (request.thinking !== undefined && info.supportsThinking === false) {
    ignored.push({ option: "thinking", because: "the model does not reason on request" })
  }
  return Result.succeed({
    provider: info.provider,
    model: info.name,
    system: systemPrompt(request, assistant),
    tools,
    hosted,
    thinking: info.supportsThinking === false ? null : (request.thinking ?? null),
    routing: request.routing ?? null,
    jsonOutput,
    ignored,
    ...(request.sendToModel === false ? { saves: true } : {})
  })
}

/** An empty prompt is none: it takes the assistant's away for this turn. */
const systemPrompt = (request: TurnRequest, assistant: Assistant): string | null => {
  const prompt =
    request.systemPrompt ??
    (request.systemFallback === "description"
      ? (assistant.description ?? assistant.systemPrompt)
      : assistant.systemPrompt)
  return prompt === "" ? null : prompt
}

/** The plan of the next leg: what came again with the outputs replaces the run's own. */
export const continuePlan = (
  plan: TurnPlan,
  request: Pick<ToolOutputsRequest, "tools" | "thinking">,
  info: ModelInfo
): Result.Result<TurnPlan, ToolNameTaken> => {
  const tools = request.tools ?? plan.tools
  const taken = tools.findIndex((tool) => plan.hosted.includes(tool.name))
  if (taken !== -1) return Result.fail(new ToolNameTaken({ name: tools[taken]?.name ?? "", index: taken }))
  const thinking = info.supportsThinking === false ? null : (request.thinking ?? plan.thinking)
  return Result.succeed({ ...plan, tools, thinking, jsonOutput: plan.jsonOutput && tools.length === 0 })
}

/** From the store, which keeps a plan as the JSON that it is. */
export const decodePlan = Schema.decodeUnknownSync(TurnPlan)

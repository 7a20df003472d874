/**
 * Step 3 of a turn, pure: it makes a plan, or a refusal, from the assistant, the request and the information on the model. The plan is
 * stored with the run, so that the next leg, after tool outputs and in any process, needs nothing else.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Assistant } from "../assistants/Assistant.ts"
import { Routing, Thinking } from "../models/ChatRequest.ts"
import { joinedOptions, ModelOptions } from "../models/ModelOptions.ts"
import {
  ModelNotNamed,
  type ProviderNotFound,
  type Providers,
  type ResolvedModel,
  providerNotFound
} from "../models/Provider.ts"
import { AssistantId, RunId, ThreadId } from "../primitives/Ids.ts"
import type { AnsweringAssistant } from "../threads/Message.ts"
import { type HostedTool, withoutTaken } from "../tools/HostedTool.ts"
import { hostedMark, ToolDefinition } from "../tools/ToolDefinition.ts"
import { IgnoredOption } from "./IgnoredOption.ts"
import { optionNames, optionsIn, withoutEffect, withoutModel } from "./IgnoredOptions.ts"
import { EmptyMessage, ToolNameTaken } from "./TurnErrors.ts"
import type { PartsDecided } from "./PartDecisions.ts"
import { guardNames } from "./Rewriting.ts"
import type { ToolOutputsRequest, TurnRequest } from "./TurnRequest.ts"

export const TurnPlan = Schema.Struct({
  /** Of the assistant; absent in plans of older versions. */
  assistantVersion: Schema.optionalKey(Schema.Int),
  provider: Schema.String,
  model: Schema.String,
  system: Schema.NullOr(Schema.String),
  /** Tools that the client runs. */
  tools: Schema.Array(ToolDefinition),
  /** Tools that the kernel runs, by name. */
  hosted: Schema.Array(Schema.String),
  thinking: Schema.NullOr(Thinking),
  routing: Schema.NullOr(Routing),
  /** Those that have an effect; absent in plans of older versions, and when there are none. */
  options: Schema.optionalKey(ModelOptions),
  jsonOutput: Schema.Boolean,
  ignored: Schema.Array(IgnoredOption),
  /** The plans of the turn's parts, by their names. */
  parts: Schema.optionalKey(Schema.JsonObject),
  /** The part that answers instead of a conversation model. */
  answeredBy: Schema.optionalKey(Schema.String),
  /** The parts that rewrite or review. Without one of them the run does not go on. */
  guards: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The assistant of this plan, if the conversation was handed over since the run began; absent: that of the run. */
  handedTo: Schema.optionalKey(AssistantId),
  /** The run whose tool began this one, and how many stand above it. */
  parent: Schema.optionalKey(
    Schema.Struct({ runId: RunId, threadId: Schema.optionalKey(ThreadId), depth: Schema.Int })
  ),
  /** True if the message is only stored and no model is called. */
  saves: Schema.optionalKey(Schema.Boolean),
  /** What was asked of the parts, to ask it again; absent when that was nothing, or was long. */
  asked: Schema.optionalKey(Schema.JsonObject),
  /** True if a part gave the content of a message that had none. */
  contentGiven: Schema.optionalKey(Schema.Boolean)
})
export type TurnPlan = typeof TurnPlan.Type

/**
 * Chooses the turn's model: first from the request, then from the assistant, then from the host's defaults. A model is used only with the
 * provider that it was named for. A provider that is named without a model uses its own default model.
 */
export const chooseModel = (
  request: Pick<TurnRequest, "provider" | "model">,
  assistant: Pick<Assistant, "provider" | "model">,
  { all, defaults }: Pick<typeof Providers.Service, "all" | "defaults">
): Result.Result<{ readonly provider: string; readonly model: string }, ModelNotNamed | ProviderNotFound> => {
  const provider = request.provider ?? assistant.provider ?? defaults.provider
  const assistantModel = (assistant.provider ?? defaults.provider) === provider ? assistant.model : null
  const hostModel = defaults.provider === provider ? defaults.model : undefined
  const found = all.find(({ id }) => id === provider)
  const model = request.model ?? assistantModel ?? hostModel ?? found?.defaultModel
  if (model !== undefined) return Result.succeed({ provider, model })
  return Result.fail(found?.chat === undefined ? providerNotFound(provider, all) : new ModelNotNamed({ provider }))
}

const noThinking: IgnoredOption = { option: "thinking", because: "the model does not reason on request" }

const reasoningUnseen: IgnoredOption = {
  option: "thinking.exclude_reasoning",
  because: "the answer is reviewed, and reasoning is not shown then"
}

export const planTurn = (input: {
  readonly request: TurnRequest
  readonly assistant: Assistant
  readonly content: string
  readonly model: Pick<ResolvedModel, "info" | "provider" | "wire">
  readonly hosted: ReadonlyArray<HostedTool>
  readonly parts: PartsDecided
}): Result.Result<TurnPlan, EmptyMessage | ToolNameTaken> => {
  const { request, assistant, parts } = input
  const { info } = input.model
  if (input.content.trim() === "" && !parts.allowsEmptyContent) return Result.fail(new EmptyMessage())
  // Nobody is there who could run tools of a client for a run that a tool began.
  const given = request.child === undefined ? (request.tools ?? assistant.tools ?? []) : []
  const tools = given.filter((tool) => !hostedMark(tool))
  const turn = {
    assistantId: assistant.id,
    provider: input.model.provider,
    contextLimit: info.contextLimit,
    metadata: request.metadata ?? null,
    jsonOutput: request.jsonOutput === true
  }
  const offered = [...withoutTaken(parts.tools, tools), ...input.hosted].filter((tool) => tool.offered?.(turn) ?? true)
  const hosted = [...new Set(offered.map((tool) => tool.definition.name))]
  const taken = tools.findIndex((tool) => hosted.includes(tool.name))
  if (taken !== -1) return Result.fail(new ToolNameTaken({ name: tools[taken]?.name ?? "", index: taken }))

  const saves = request.sendToModel === false
  const guards = guardNames(parts.planned)
  const ignored = [...(request.ignored ?? []), ...parts.ignored]
  const isWithoutTools = tools.length === 0 && hosted.length === 0
  const jsonOutput = turn.jsonOutput && isWithoutTools && ignored.every(({ option }) => option !== "json_output")
  if (turn.jsonOutput && !isWithoutTools && !saves) ignored.push({ option: "json_output", because: "tools are active" })
  const asked = joinedOptions(assistant.modelOptions, request.modelOptions)
  const choice = chosenTool(asked, [...tools.map(({ name }) => name), ...hosted])
  const answeredByPart = parts.answers === null ? [] : optionsIn(asked).map(withoutPart)
  const options = {
    modelOptions: parts.answers === null ? choice.options : {},
    hasTools: !isWithoutTools,
    thinking: info.supportsThinking === false ? null : (request.thinking ?? null),
    routing: request.routing ?? null,
    jsonOutput
  }
  if (request.thinking !== undefined && info.supportsThinking === false && !saves) {
    ignored.push(noThinking)
  }
  const isShown = request.thinking !== undefined && request.thinking.excludeReasoning !== true && !saves
  if (isShown && parts.planned.some((part) => part.has("review"))) ignored.push(reasoningUnseen)
  return Result.succeed({
    assistantVersion: assistant.version,
    provider: input.model.provider,
    model: info.name,
    system: joinedSystemPrompt(request, assistant),
    tools,
    hosted,
    thinking: options.thinking,
    routing: options.routing,
    jsonOutput,
    ...(optionsIn(options.modelOptions).length === 0 ? {} : { options: options.modelOptions }),
    ignored: [
      ...ignored,
      ...(saves
        ? withoutModel(request)
        : [...choice.ignored, ...answeredByPart, ...withoutEffect(input.model, options)])
    ],
    ...(Object.keys(parts.plans).length === 0 ? {} : { parts: parts.plans }),
    ...(parts.answers === null ? {} : { answeredBy: parts.answers.part }),
    ...(guards.length === 0 ? {} : { guards }),
    ...(request.child === undefined ? {} : { parent: parentField(request.child) }),
    ...(saves ? { saves: true } : {}),
    ...askedAgain(request.options),
    ...(parts.content === null ? {} : { contentGiven: true })
  })
}

const parentField = ({ depth, parent, parentThread }: NonNullable<TurnRequest["child"]>) => ({
  runId: parent,
  threadId: parentThread,
  depth
})

/** The longest options, as JSON, that are kept for another time. */
const longestAsked = 65_536

const askedAgain = (options: TurnRequest["options"]): Pick<TurnPlan, "asked"> =>
  options === undefined || JSON.stringify(options).length > longestAsked ? {} : { asked: options }

/** A choice of tools that the turn does not have is no choice. */
const chosenTool = (asked: ModelOptions, tools: ReadonlyArray<string>) => {
  const { toolChoice: choice, ...others } = asked
  const isIdle = choice === undefined || choice === "auto" || choice === "none"
  const isThere = typeof choice === "object" ? tools.includes(choice.name) : tools.length > 0
  if (isIdle || isThere) return { options: asked, ignored: [] }
  const because = typeof choice === "object" ? "the turn has no such tool" : "the turn has no tools"
  return { options: others, ignored: [{ option: optionNames.toolChoice, because }] }
}

const withoutPart = (option: string): IgnoredOption => ({ option, because: "no conversation model answers this turn" })

/** The system prompt of a turn. An empty prompt in the request removes the assistant's prompt for this turn. */
export const joinedSystemPrompt = (request: TurnRequest, assistant: Assistant): string | null => {
  const prompt =
    request.systemPrompt ??
    (request.systemFallback === "description"
      ? (assistant.description ?? assistant.systemPrompt)
      : assistant.systemPrompt)
  return prompt === "" ? null : prompt
}

/** The plan of the next leg. Fields that came with the tool outputs replace those of the run. */
export const continuePlan = (
  plan: TurnPlan,
  request: Pick<ToolOutputsRequest, "tools" | "thinking">,
  model: Pick<ResolvedModel, "info" | "wire">
): Result.Result<TurnPlan, ToolNameTaken> => {
  const tools = (request.tools ?? plan.tools).filter((tool) => !hostedMark(tool))
  const taken = tools.findIndex((tool) => plan.hosted.includes(tool.name))
  if (taken !== -1) return Result.fail(new ToolNameTaken({ name: tools[taken]?.name ?? "", index: taken }))
  const thinking = model.info.supportsThinking === false ? null : (request.thinking ?? plan.thinking)
  const jsonOutput = plan.jsonOutput && tools.length === 0
  return Result.succeed({ ...plan, tools, thinking, jsonOutput, ignored: ignoredFrom(plan, request, model) })
}

/** The options that the run has ignored so far. Options that the request sets again are judged again. */
const ignoredFrom = (
  plan: TurnPlan,
  { thinking }: Pick<ToolOutputsRequest, "thinking">,
  model: Pick<ResolvedModel, "info" | "wire">
): TurnPlan["ignored"] =>
  thinking === undefined
    ? plan.ignored
    : [
        ...plan.ignored.filter(({ option }) => !option.startsWith("thinking")),
        ...(model.info.supportsThinking === false
          ? [noThinking]
          : withoutEffect(model, { thinking, routing: null, jsonOutput: false, modelOptions: {}, hasTools: false }))
      ]

/** The assistant that answers with a plan; null: the plan is of an older version. */
export const answeringAssistant = (
  id: AssistantId,
  { assistantVersion: version }: Pick<TurnPlan, "assistantVersion">
): AnsweringAssistant | null => (version === undefined ? null : { id, version })

/** Reads an object with a schema, but keeps the fields that the schema does not know. */
const keepingUnknown = <A extends object>(schema: Schema.Codec<A, unknown>) => {
  const decode = Schema.decodeUnknownOption(schema)
  return (json: unknown): A | null =>
    Option.match(decode(json), { onNone: () => null, onSome: (read) => Object.assign({}, recordOrEmpty(json), read) })
}

const readThinking = keepingUnknown(Thinking)
const readRouting = keepingUnknown(Routing)
const readOptions = keepingUnknown(ModelOptions)
const readTool = keepingUnknown(ToolDefinition)
const readIgnored = keepingUnknown(IgnoredOption)

/**
 * Decodes a plan from the store. An older or a newer version may have written it: fields that this version does not know are kept, and
 * fields that are missing or unreadable get the value of an option that was not requested.
 */
export const decodePlan = (json: unknown): TurnPlan => {
  const stored = recordOrEmpty(json)
  const text = (value: unknown): string | null => (typeof value === "string" ? value : null)
  const options = readOptions(stored["options"])
  return Object.assign({}, stored, options === null ? {} : { options }, {
    provider: text(stored["provider"]) ?? "",
    model: text(stored["model"]) ?? "",
    system: text(stored["system"]),
    tools: listOrEmpty(stored["tools"]).flatMap((tool) => readTool(tool) ?? []),
    hosted: listOrEmpty(stored["hosted"]).filter((name) => typeof name === "string"),
    thinking: readThinking(stored["thinking"]),
    routing: readRouting(stored["routing"]),
    jsonOutput: stored["jsonOutput"] === true,
    ignored: listOrEmpty(stored["ignored"]).flatMap((each) => readIgnored(each) ?? []),
    guards: listOrEmpty(stored["guards"]).filter((name) => typeof name === "string"),
    saves: stored["saves"] === true,
    asked: recordOrEmpty(stored["asked"])
  })
}

const recordOrEmpty = (json: unknown): Schema.JsonObject =>
  Option.getOrElse(Schema.decodeUnknownOption(Schema.JsonObject)(json), () => ({}))

const listOrEmpty = (json: unknown): ReadonlyArray<unknown> => (Array.isArray(json) ? json : [])

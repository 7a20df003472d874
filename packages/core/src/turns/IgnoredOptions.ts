/**
 * Pure: finds options of a turn that have no effect at its provider, by comparing the requests that the driver would send with and without
 * the option. So every vendor's rules (an effort beside a budget, a restriction that only some models take) are told as they really are.
 */
import type { ChatRequest, Routing, Thinking } from "../models/ChatRequest.ts"
import type { ModelOptions } from "../models/ModelOptions.ts"
import type { ResolvedModel } from "../models/Provider.ts"
import type { IgnoredOption } from "./IgnoredOption.ts"
import type { TurnRequest } from "./TurnRequest.ts"

export interface TurnOptions {
  readonly thinking: Thinking | null
  readonly routing: Routing | null
  readonly jsonOutput: boolean
  readonly modelOptions: ModelOptions
  /** Options about tools have an effect only where there are some. */
  readonly hasTools: boolean
}

const because = "the provider does not take it for this model, or another option beats it"

export const withoutEffect = (
  { info, wire }: Pick<ResolvedModel, "info" | "wire">,
  options: TurnOptions
): ReadonlyArray<IgnoredOption> => {
  const { jsonOutput, modelOptions, routing, thinking } = options
  const settings = givenFields(modelOptions)
  if (wire === undefined || (thinking === null && routing === null && !jsonOutput && settings.length === 0)) return []
  const sent = (changed: TurnOptions): string =>
    JSON.stringify(wire({ ...checkedRequest(changed), info, ...modelNames(info) }))
  const whole = sent(options)
  const isIgnored = (without: Partial<TurnOptions>): boolean => sent({ ...options, ...without }) === whole
  const ignored: Array<string> = []
  if (jsonOutput && isIgnored({ jsonOutput: false })) ignored.push("json_output")
  if (routing !== null && isGiven(routing) && isIgnored({ routing: null })) ignored.push("router")
  else if (routing !== null) {
    for (const field of routingFields) {
      if (routing[field] !== undefined && isIgnored({ routing: without(routing, field) }))
        ignored.push(`router.${routingNames[field]}`)
    }
  }
  const asks = thinking !== null && thinkingFields.some((field) => thinking[field] !== undefined)
  if (asks && isIgnored({ thinking: null })) ignored.push("thinking")
  else if (thinking !== null) {
    for (const field of thinkingFields) {
      if (thinking[field] !== undefined && isIgnored({ thinking: without(thinking, field) })) {
        ignored.push(`thinking.${thinkingNames[field]}`)
      }
    }
  }
  for (const field of settings) {
    const isSent = field !== "maxSteps" && !isDefaultChoice(field, modelOptions)
    if (isSent && isIgnored({ modelOptions: without(modelOptions, field) })) ignored.push(optionNames[field])
  }
  return ignored.map((option) => ({ option, because }))
}

/** Whether every model does this by itself, so that the option has an effect even if it is not sent. */
const isDefaultChoice = (field: keyof ModelOptions, { toolChoice }: ModelOptions): boolean =>
  field === "toolChoice" && (toolChoice === "auto" || toolChoice === "none")

/** The names of the options on the wire. */
export const optionNames: { readonly [Field in keyof ModelOptions]-?: string } = {
  temperature: "model_options.temperature",
  topP: "model_options.top_p",
  maxOutputTokens: "model_options.max_output_tokens",
  stop: "model_options.stop",
  seed: "model_options.seed",
  toolChoice: "model_options.tool_choice",
  parallelToolCalls: "model_options.parallel_tool_calls",
  maxSteps: "model_options.max_steps"
}
const optionFields = [
  "temperature",
  "topP",
  "maxOutputTokens",
  "stop",
  "seed",
  "toolChoice",
  "parallelToolCalls",
  "maxSteps"
] as const

const givenFields = (options: ModelOptions) => optionFields.filter((field) => options[field] !== undefined)

/** The names of those that are given. */
export const optionsIn = (options: ModelOptions): ReadonlyArray<string> =>
  givenFields(options).map((field) => optionNames[field])

/** The options that a message which is only saved gives for a model. */
export const withoutModel = (request: TurnRequest): ReadonlyArray<IgnoredOption> =>
  Object.entries({
    llm_provider: request.provider,
    model_name: request.model,
    system_prompt: request.systemPrompt,
    tools: request.tools,
    thinking: request.thinking,
    router: request.routing,
    model_options: request.modelOptions,
    json_output: request.jsonOutput === true ? true : undefined
  }).flatMap(([option, given]) => (given === undefined ? [] : [{ option, because: "the message is only saved" }]))

/**
 * The names of these options on the wire. `excludeReasoning` is not in the list: it always has an effect, because the
 * kernel itself withholds the reasoning.
 */
const thinkingNames = { effort: "effort", budgetTokens: "budget_tokens", maxTokens: "max_tokens" } as const
const thinkingFields = ["effort", "budgetTokens", "maxTokens"] as const

const routingNames = {
  providers: "providers",
  allowFallbacks: "allow_fallbacks",
  sort: "sort",
  ignore: "ignore",
  maxPrice: "max_price",
  allowedModels: "allowed_models",
  excludedModels: "excluded_models",
  costTier: "cost_tier"
} as const
const routingFields = [
  "providers",
  "allowFallbacks",
  "sort",
  "ignore",
  "maxPrice",
  "allowedModels",
  "excludedModels",
  "costTier"
] as const

/** A request with one word of conversation. Only the other fields of the two requests can differ. */
const probe: Omit<
  ChatRequest,
  "info" | "provider" | "model" | "tools" | "toolChoice" | "maxOutputTokens" | "thinking" | "routing" | "jsonOutput"
> = {
  system: null,
  messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
  apiKey: null,
  conversationId: "probe"
}

const probeTool = { name: "probe", description: null, parameters: null }

const checkedRequest = ({ hasTools, jsonOutput, modelOptions, routing, thinking }: TurnOptions) => {
  const { maxOutputTokens = null, toolChoice = "auto", ...sampling } = modelOptions
  return {
    ...probe,
    tools: hasTools ? [probeTool] : [],
    toolChoice: typeof toolChoice === "object" ? { name: probeTool.name } : toolChoice,
    maxOutputTokens,
    sampling,
    thinking,
    routing,
    jsonOutput
  }
}

const modelNames = ({ name, provider }: ResolvedModel["info"]) => ({ provider, model: name })

const isGiven = (options: object): boolean => Object.values(options).some((value) => value !== undefined)

const without = <Options extends object>(options: Options, field: keyof Options): Options => {
  const copy = { ...options }
  delete copy[field]
  return copy
}

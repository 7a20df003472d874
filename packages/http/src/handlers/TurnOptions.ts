/** Options of a turn from the words of the wire to those of the kernel. The schemas have checked them. */
import type { Metadata, ModelOptions, Routing, Thinking } from "@colloquy/core/adapters"
import { compact, given, saysTrue } from "../wire/Fields.ts"
import type * as Wire from "../wire/MessageBody.ts"
import { type Tool, toolFromWire } from "../wire/Tools.ts"

type Maybe<A> = A | null | undefined

export const thinkingFromWire = (thinking: Maybe<Wire.Thinking>): Thinking | undefined =>
  thinking === null || thinking === undefined
    ? undefined
    : compact({
        effort: given(thinking.effort),
        budgetTokens: given(thinking.budget_tokens),
        maxTokens: given(thinking.max_tokens),
        excludeReasoning: given(thinking.exclude_reasoning)
      })

export const modelOptionsFromWire = (options: Maybe<Wire.ModelOptions>): ModelOptions | undefined =>
  options === null || options === undefined
    ? undefined
    : compact({
        temperature: given(options.temperature),
        topP: given(options.top_p),
        maxOutputTokens: given(options.max_output_tokens),
        stop: given(options.stop),
        seed: given(options.seed),
        toolChoice: given(options.tool_choice),
        parallelToolCalls: given(options.parallel_tool_calls),
        maxSteps: given(options.max_steps)
      })

export const routingFromWire = (router: Maybe<Wire.Router>): Routing | undefined =>
  router === null || router === undefined
    ? undefined
    : compact({
        providers: given(router.providers),
        allowFallbacks: given(router.allow_fallbacks),
        sort: given(router.sort),
        ignore: given(router.ignore),
        maxPrice: readMaxPrice(router.max_price),
        allowedModels: given(router.allowed_models),
        excludedModels: given(router.excluded_models),
        costTier: given(router.cost_tier)
      })

const readMaxPrice = (price: Wire.Router["max_price"]): Routing["maxPrice"] | undefined =>
  price === null || price === undefined
    ? undefined
    : compact({ prompt: given(price.prompt), completion: given(price.completion) })

export const toolsFromWire = (tools: Maybe<ReadonlyArray<Tool>>) => tools?.map(toolFromWire)

/** Text or a boolean in every encoding; true when it is not said. */
export const sendToModel = (value: Maybe<boolean | string>): boolean =>
  typeof value === "string" ? saysTrue(value) : value !== false

/** An object, or the text of one. */
export const readMetadata = (metadata: Maybe<string | Metadata>): Metadata | undefined =>
  typeof metadata === "string" ? JSON.parse(metadata) : given(metadata)

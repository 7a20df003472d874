/**
 * How searching the web joins a turn, as the part "search": with `web_search: "Auto"`, or with an assistant that has the tool, the model
 * may call `web_search`. The host's engine answers (`WebSearchPort`). A model with a search of its own uses that search if the host prefers it
 * or has no engine. Sources are kept with the answer, also those that a vendor's own search cites.
 *
 * Options: `{ mode: "Auto" }`.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { InsufficientCredit } from "../metering/Metering.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { Catalog } from "../catalog/Catalog.ts"
import { chargeOfCost } from "../metering/Charge.ts"
import { paid } from "../metering/PaidCall.ts"
import { hasOwnSearch } from "../models/ModelInfo.ts"
import { newFrameWord } from "../prompts/Frame.ts"
import { type HostedCall, type HostedTool, HostedToolFailed } from "../tools/HostedTool.ts"
import type { LiveTurn, Rewriting } from "../tools/LiveTurn.ts"
import { hostedMark } from "../tools/ToolDefinition.ts"
import { TurnRefused } from "../turns/TurnErrors.ts"
import type { ModelOutput, PartDecision, TurnCase, TurnPart } from "../turns/TurnPart.ts"
import { TurnParts } from "../turns/TurnParts.ts"
import { SearchSettings } from "./SearchSettings.ts"
import { addSources, isShown, resultWords, sourcesIn, textOfResults, withWords } from "./Sources.ts"
import type { WebResult, WebSearchPort } from "./WebSearch.ts"

/** `search`: under this name the part keeps its sources with an answer, and its searches are charged. */
export const searchPartName = "search"
const toolName = "web_search"

const Options = Schema.Struct({ mode: Schema.Literal("Auto") })
const decodeOptions = Schema.decodeUnknownOption(Options)

const SearchPlan = Schema.Struct({ by: Schema.Literals(["engine", "model"]) })
type SearchPlan = typeof SearchPlan.Type

const definition: HostedTool["definition"] = {
  name: toolName,
  description: "Searches the web. Use it for what is recent, or what you do not know for certain.",
  parameters: {
    type: "object",
    properties: { query: { type: "string", description: "A few words, as for a search engine" } },
    required: ["query"]
  }
}

const makePart = Effect.fnUntraced(function* (engine: WebSearchPort | null) {
  const catalog = yield* Catalog
  const settings = yield* SearchSettings

  const decide = Effect.fnUntraced(function* (turn: TurnCase) {
    if (!(yield* isWanted(turn))) return null
    const info = turn.model === null ? undefined : yield* catalog.known(turn.provider, turn.model)
    const hasOwn = hasOwnSearch(info) || hasOwnSearch(turn.info)
    if (engine === null && !hasOwn) return yield* refuse(noEngine)
    const by = hasOwn && (engine === null || settings.prefersModel) ? "model" : "engine"
    const isIgnored = by === "model" && turn.request.jsonOutput === true
    const decision: PartDecision<SearchPlan> = {
      plan: { by },
      ...(isIgnored ? { ignored: [{ option: "json_output", because: "the web is searched" }] } : {})
    }
    return decision
  })

  const tools: TurnPart<SearchPlan>["tools"] = ({ by }) =>
    by === "model" ? ["web_search"] : engine === null ? [] : [searchTool(engine, settings)]

  const receive = (output: ModelOutput, turn: LiveTurn) =>
    Effect.sync(() => {
      const before = sourcesIn(turn.kept())
      const sources = addSources(before, output.sources)
      if (sources.length > before.length) turn.keep({ sources })
      return undefined
    })

  const part: TurnPart<SearchPlan> = {
    name: searchPartName,
    plan: SearchPlan,
    concerns: (turn) => turn.options !== undefined || isCarried(turn),
    decide,
    // A session has many questions, and each of them may search.
    session: ({ by }) =>
      Effect.succeed({
        instructions: null,
        tools:
          by === "engine" && engine !== null
            ? [
                {
                  definition,
                  timeout: settings.timeout,
                  run: (args, call) => searchTool(engine, settings).run(args, call)
                }
              ]
            : []
      }),
    tools,
    receive
  }
  return part
})

const search = Effect.fnUntraced(function* (
  engine: WebSearchPort,
  settings: SearchSettings,
  text: string,
  call: HostedCall
) {
  const need = { purpose: searchPartName, amountUsd: engine.priceUsd }
  yield* Effect.mapError(call.ensureCredit(need), creditFailure)
  const payee = { provider: engine.id, model: engine.id, purpose: searchPartName }
  const { results } = yield* paid(call.beginCharge, {
    payee,
    call: engine.search({ text, limit: settings.results }),
    charges: ({ costUsd }) => [chargeOfCost(payee, costUsd)]
  }).pipe(Effect.mapError(({ message }) => new HostedToolFailed({ message })))
  const found = results.filter(isShown).slice(0, settings.results)
  const { rewriting } = call
  const shown = rewriting === null ? found : yield* rewriteResults(rewriting, found)
  const word = yield* newFrameWord
  const before = sourcesIn(call.kept())
  const sources = addSources(before, shown)
  if (sources.length > before.length) call.keep({ sources })
  const output = textOfResults(sources, shown, settings.maxText, word)
  rewriting?.done(output)
  return output
})

const rewriteResults = Effect.fnUntraced(function* ({ rewrite }: Rewriting, found: ReadonlyArray<WebResult>) {
  const shown: Array<WebResult> = []
  for (const each of found) {
    const words = yield* Effect.mapError(rewrite(resultWords(each)), notChecked)
    const rewritten = withWords(each, words)
    if (rewritten !== null) shown.push(rewritten)
  }
  return shown
})

const notChecked = () =>
  new HostedToolFailed({ message: "What the search found could not be checked. Answer without it." })

const searchTool = (engine: WebSearchPort, settings: SearchSettings): HostedTool => {
  // Counted per leg: the tools are made for each leg.
  let searched = 0
  return {
    definition,
    timeout: settings.timeout,
    run: ({ query }, call) => {
      const text = typeof query === "string" ? query.trim().slice(0, longestQuery) : ""
      if (text === "") return failed("Give a query: a few words.")
      if (++searched > settings.searches) return failed("The web was searched often enough. Answer with what you have.")
      return search(engine, settings, text, call)
    }
  }
}

/** Characters. No engine accepts more. */
const longestQuery = 400

/** A layer over `Kernel.layer`. Without an engine, only models with a search of their own search. */
export const searchPart = (engine: WebSearchPort | null): Layer.Layer<never, never, Catalog | TurnParts> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const parts = yield* TurnParts
      yield* parts.register(yield* makePart(engine))
    })
  )

const isCarried = ({ assistant, request }: TurnCase): boolean =>
  (request.tools ?? assistant.tools ?? []).some((tool) => tool.name === toolName && hostedMark(tool))

const isWanted = (turn: TurnCase): Effect.Effect<boolean, TurnRefused> => {
  if (turn.request.sendToModel === false) return Effect.succeed(false)
  if (turn.options === undefined) return Effect.succeed(isCarried(turn))
  return Option.isSome(decodeOptions(turn.options)) ? Effect.succeed(true) : refuse('Searching takes the mode "Auto".')
}

const noEngine = "This model has no search of its own, and this server has no search engine. Choose another model."

const refuse = (message: string): Effect.Effect<never, TurnRefused> =>
  Effect.fail(new TurnRefused({ part: searchPartName, reason: "invalid", problems: [{ path: [], message }] }))

const failed = (message: string): Effect.Effect<never, HostedToolFailed> =>
  Effect.fail(new HostedToolFailed({ message }))

const creditFailure = (error: InsufficientCredit | StoreUnavailable): HostedToolFailed =>
  new HostedToolFailed({
    message:
      error._tag === "InsufficientCredit"
        ? `The web was not searched: ${error.reason ?? "the user has not enough credit."} Answer without it, and say so.`
        : "The web was not searched: the database is unavailable. Answer without it."
  })

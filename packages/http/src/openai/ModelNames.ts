/**
 * Finds the record that the `model` of a request names: `provider/model` of a provider that the host registered; an assistant, by its id or
 * its exact name; or a model of the catalogue by its name alone. Everything else is 404, as at OpenAI.
 */
import { type Assistant, AssistantId, Assistants, Catalog, type Principal, type StoreUnavailable } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { fromKernel, OpenAiError } from "./Errors.ts"
import { isUuid } from "./Ids.ts"

export type Target =
  | { readonly _tag: "Model"; readonly provider: string; readonly model: string }
  | { readonly _tag: "Assistant"; readonly assistant: Assistant }

/** Finds the record of a name among those of the principal. */
export const makeModelNames = Effect.gen(function* () {
  const assistants = yield* Assistants
  const catalog = yield* Catalog

  const findAssistant = Effect.fnUntraced(function* (
    name: string
  ): Effect.fn.Return<Assistant | null, OpenAiError | StoreUnavailable, Principal> {
    if (isUuid(name)) {
      const id = AssistantId.make(name.toLowerCase())
      return yield* Effect.catchTag(assistants.get(id), "AssistantNotFound", () => Effect.succeed(null))
    }
    const [first, second] = yield* assistants.list({ skip: 0, limit: 2 }, name)
    if (second !== undefined) return yield* ambiguous(name)
    return first ?? null
  })

  return Effect.fnUntraced(function* (name: string): Effect.fn.Return<Target, OpenAiError, Principal> {
    const slash = name.indexOf("/")
    const provider = name.slice(0, Math.max(0, slash))
    const model = name.slice(slash + 1)
    const isSplit = provider !== "" && model !== ""
    if (isSplit && (yield* catalog.providers("llm")).includes(provider)) return { _tag: "Model", provider, model }
    const assistant = yield* Effect.catchTag(findAssistant(name), "StoreUnavailable", (away) =>
      Effect.fail(fromKernel(away))
    )
    if (assistant !== null) return { _tag: "Assistant", assistant }
    const entry = yield* Effect.option(catalog.find(name, "llm"))
    if (Option.isSome(entry)) return { _tag: "Model", provider: entry.value.provider, model: name }
    // The provider may have no list of models: the kernel finds out whether there is such a provider.
    return isSplit ? { _tag: "Model", provider, model } : yield* unknown(name)
  })
})

const unknown = (name: string) =>
  new OpenAiError({
    status: 404,
    message: `There is no model or assistant "${name.slice(0, 200)}". Name a model as provider/model, or an assistant by its id or its name. GET /v1/models lists them.`,
    param: "model",
    code: "model_not_found"
  })

const ambiguous = (name: string) =>
  new OpenAiError({
    status: 400,
    message: `More than one assistant has the name "${name.slice(0, 200)}". Use the id of one.`,
    param: "model",
    code: "ambiguous_model"
  })

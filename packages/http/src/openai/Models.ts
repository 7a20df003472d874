/** `GET /v1/models`: the conversation models of the catalogue as `provider/model`, and the caller's assistants by their ids. */
import { type Assistant, Assistants, Catalog } from "@colloquy/core"
import { type CatalogEntry, maximumLimit } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { fromKernel } from "./Errors.ts"
import { isMade } from "../wire/MadeAssistant.ts"
import { makeModelNames, type Target } from "./ModelNames.ts"

const longestList = 15_000

const modelRecord = ({ lastUpdated, name, provider }: Pick<CatalogEntry, "name" | "provider" | "lastUpdated">) => ({
  id: `${provider}/${name}`,
  object: "model",
  created: Math.floor((lastUpdated?.getTime() ?? 0) / 1000),
  owned_by: provider
})

const assistantRecord = ({ createdAt, id, name }: Assistant) => ({
  id,
  object: "model",
  created: Math.floor(createdAt.getTime() / 1000),
  owned_by: "assistant",
  name
})

export const makeModels = Effect.gen(function* () {
  const catalog = yield* Catalog
  const assistants = yield* Assistants
  const findModel = yield* makeModelNames

  const list = Effect.gen(function* () {
    const { models } = yield* catalog.list({ modelType: "llm" }, { skip: 0, limit: longestList })
    const own = yield* Effect.mapError(assistants.list({ skip: 0, limit: maximumLimit }), fromKernel)
    return HttpServerResponse.jsonUnsafe({
      object: "list",
      data: [...models.map(modelRecord), ...own.filter((each) => !isMade(each)).map(assistantRecord)]
    })
  })

  const record = (target: Target) =>
    target._tag === "Assistant"
      ? assistantRecord(target.assistant)
      : modelRecord({ name: target.model, provider: target.provider, lastUpdated: null })

  return {
    list,
    get: (name: string) => Effect.map(findModel(name), (target) => HttpServerResponse.jsonUnsafe(record(target)))
  }
})

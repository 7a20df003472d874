/** The catalogue of models, and the check of a model's name before a message is sent. */
import { json } from "../api/http.ts"
import { computed, signal } from "../view.ts"
import type { Model } from "../wire.ts"

const models = signal<ReadonlyArray<Model>>([])

export const loadCatalogue = async (): Promise<void> => {
  const { models: found } = await json<{ readonly models: ReadonlyArray<Model> }>("/models?limit=15000")
  models.value = found
}

export const modelsOfType = (type: Model["model_type"]) =>
  computed(() => models.value.filter(({ model_type }) => model_type === type))

export const chatModels = modelsOfType("llm")
export const realtimeModels = modelsOfType("realtime")

/** True: no provider is set up, and only the demo answers. */
export const isDemo = computed(
  () => chatModels.value.length > 0 && chatModels.value.every(({ provider }) => provider === "demo")
)

export interface ModelName {
  readonly provider: string | null
  readonly model: string | null
}

/** `provider/model`, where the model's own name may contain more slashes. Without a slash, the text is the name of a model alone. */
export const readModelName = (typed: string): ModelName => {
  const text = typed.trim()
  if (text === "") return { provider: null, model: null }
  const [provider = "", ...rest] = text.split("/")
  return rest.length === 0 ? { provider: null, model: text } : { provider, model: rest.join("/") }
}

export const writeModelName = ({ model, provider }: ModelName): string => [provider, model].filter(Boolean).join("/")

export const find = ({ model, provider }: ModelName): Model | undefined =>
  models.value.find((each) => each.name === model && (provider === null || each.provider === provider))

/** The problem of a name according to the catalogue; null when the catalogue has the model or no list of the provider. */
export const catalogueProblem = (name: ModelName): string | null => {
  const { model, provider } = name
  if (model === null || models.value.length === 0) return null
  const ofProvider = models.value.filter((each) => provider === null || each.provider === provider)
  if (provider !== null && ofProvider.length === 0) {
    const known = [...new Set(models.value.map((each) => each.provider))]
    return `The catalogue has no models of “${provider}”${known.length === 0 ? "" : `; it has those of ${known.join(", ")}`}.`
  }
  const found = ofProvider.filter((each) => each.name === model)
  if (found.length === 0)
    return `There is no model “${model}”${provider === null ? "" : ` of ${provider}`} in the catalogue.`
  return found.some(({ model_type }) => model_type === "llm" || model_type === "system_one")
    ? null
    : `“${model}” is no conversation model.`
}

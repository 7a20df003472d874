/**
 * What is known of a model: limits, prices and capabilities, as data. The kernel decides by these fields and never by a name. `null` means
 * "not known", which is no promise of support. The entries of the catalogue are this record.
 */
import * as Schema from "effect/Schema"

/** `llm` answers in words, `stt` writes speech down, `tts` reads aloud, `system_one` gives probabilities; the others are as they are called. */
export const ModelType = Schema.Literals(["llm", "embedding", "image", "video", "realtime", "system_one", "stt", "tts"])
export type ModelType = typeof ModelType.Type

const Known = <S extends Schema.Top>(schema: S) => Schema.NullOr(schema)

export const ModelInfo = Schema.Struct({
  name: Schema.String,
  provider: Schema.String,
  modelType: ModelType,
  displayName: Known(Schema.String),
  /** The maximum of prompt and answer together, in tokens. */
  contextLimit: Known(Schema.Int),
  maxOutputTokens: Known(Schema.Int),
  supportsTools: Known(Schema.Boolean),
  supportsJsonOutput: Known(Schema.Boolean),
  /** Whether the provider can hold the model to a JSON Schema of its answer. */
  supportsOutputSchema: Known(Schema.Boolean),
  supportsThinking: Known(Schema.Boolean),
  supportsVision: Known(Schema.Boolean),
  supportsPdfInput: Known(Schema.Boolean),
  supportsAudioInput: Known(Schema.Boolean),
  supportsVideoInput: Known(Schema.Boolean),
  supportsAudioOutput: Known(Schema.Boolean),
  /** The fields of `thinking` that apply, and the accepted words of effort; null when the model does not reason on request. */
  thinkingControls: Known(
    Schema.Struct({
      efforts: Schema.Array(Schema.String),
      budget: Schema.Boolean,
      /** A driver's own name for a family of parameters, such as `adaptive` or `level`. */
      style: Schema.NullOr(Schema.String)
    })
  ),
  embeddingDimensions: Known(Schema.Int),
  inputCostPerMillionTokens: Known(Schema.Finite),
  outputCostPerMillionTokens: Known(Schema.Finite),
  /** Fields that only one type of model has (video limits, realtime formats), in the form in which the client gets them. */
  details: Known(Schema.JsonObject)
})
export type ModelInfo = typeof ModelInfo.Type

/** An entry of which only the given fields are known. */
export const describeModel = (
  known: Pick<ModelInfo, "name" | "provider" | "modelType"> & Partial<ModelInfo>
): ModelInfo => ({ ...nothingKnown, ...known })

/** Whether the catalogue says that the model searches the web itself on request (`details.web_search`). */
export const hasOwnSearch = (info: ModelInfo | null | undefined): boolean => info?.details?.["web_search"] === true

/** `more` overrides `entry` in every field that it knows. */
export const mergeModelInfo = <Entry extends ModelInfo>(entry: Entry, more: Partial<ModelInfo>): Entry => {
  const merged: Record<string, unknown> = { ...more }
  for (const [field, value] of Object.entries(entry)) merged[field] ??= value
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every field of the entry, with a value of that field's type
  return merged as Entry
}

const nothingKnown: Omit<ModelInfo, "name" | "provider" | "modelType"> = {
  displayName: null,
  contextLimit: null,
  maxOutputTokens: null,
  supportsTools: null,
  supportsJsonOutput: null,
  supportsOutputSchema: null,
  supportsThinking: null,
  supportsVision: null,
  supportsPdfInput: null,
  supportsAudioInput: null,
  supportsVideoInput: null,
  supportsAudioOutput: null,
  thinkingControls: null,
  embeddingDimensions: null,
  inputCostPerMillionTokens: null,
  outputCostPerMillionTokens: null,
  details: null
}

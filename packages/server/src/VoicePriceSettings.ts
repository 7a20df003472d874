/**
 * The prices of voice models in the environment, as JSON by the names of the models: US dollars of a million tokens, or of a minute. The
 * catalogue shows the same names.
 */
import * as Schema from "effect/Schema"

const Price = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))
const byModel = <S extends Schema.Codec<unknown, unknown>>(prices: S) =>
  Schema.fromJsonString(Schema.Record(Schema.String, prices))

const tokens = { textInput: Price, audioInput: Price, textOutput: Price, audioOutput: Price }
const tokenKeys = {
  textInput: "text_input",
  audioInput: "audio_input",
  textOutput: "text_output",
  audioOutput: "audio_output"
} as const

const maybe = Schema.optionalKey(Price)

/** One codec for each vendor: they charge for different things. */
export const VoicePriceLists = {
  OPENAI: byModel(
    Schema.Struct({
      ...tokens,
      cachedInput: Price,
      imageInput: maybe,
      transcriptionInput: maybe,
      transcriptionOutput: maybe,
      transcriptionMinute: maybe
    }).pipe(
      Schema.encodeKeys({
        ...tokenKeys,
        cachedInput: "cached_input",
        imageInput: "image_input",
        transcriptionInput: "transcription_input",
        transcriptionOutput: "transcription_output",
        transcriptionMinute: "transcription_minute"
      })
    )
  ),
  GEMINI: byModel(Schema.Struct(tokens).pipe(Schema.encodeKeys(tokenKeys))),
  XAI: byModel(Schema.Struct({ minute: Price }))
}

export type VoicePriceLists = {
  readonly [Vendor in keyof typeof VoicePriceLists]: (typeof VoicePriceLists)[Vendor]["Type"]
}

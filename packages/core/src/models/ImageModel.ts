/**
 * Port: a provider that makes pictures from words, and from other pictures. One request, one whole answer. Credit, limits, charges and
 * storing are added once for all providers by the wing `media` (`ImagePart`).
 *
 * `imageModelSuite` of the contracts tests what is promised here.
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { Usage } from "../primitives/Usage.ts"
import type { ModelError } from "./ModelError.ts"

/** What a picture shall be, by the names of `image_config`: users and models both write them. */
export const ImageOptions = Schema.Struct({
  /** How many pictures. */
  n: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10 }))),
  /** `WIDTHxHEIGHT`, or a word that the model knows. */
  size: Schema.optionalKey(Schema.NonEmptyString),
  resolution: Schema.optionalKey(Schema.NonEmptyString),
  aspect_ratio: Schema.optionalKey(Schema.NonEmptyString),
  quality: Schema.optionalKey(Schema.NonEmptyString),
  background: Schema.optionalKey(Schema.NonEmptyString),
  /** No SVG: a browser would run it. */
  output_format: Schema.optionalKey(Schema.Literals(["png", "jpeg", "webp"])),
  output_compression: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))),
  seed: Schema.optionalKey(Schema.Int)
})
export type ImageOptions = typeof ImageOptions.Type

/** A picture to begin with. */
export interface InputImage {
  readonly mediaType: string
  readonly bytes: Uint8Array
}

export interface ImageRequest {
  /** The name under which the host registered the provider. */
  readonly provider: string
  readonly model: string
  readonly prompt: string
  /** Not empty: these pictures are changed, or taken as a model. */
  readonly inputs: ReadonlyArray<InputImage>
  readonly options: ImageOptions
  /** The customer's own key for this provider; beats the driver's. */
  readonly apiKey: Redacted.Redacted<string> | null
}

export interface ImageAnswer {
  /** At least one. As the provider sent them: what they really are is looked at by the wing. */
  readonly images: ReadonlyArray<Uint8Array>
  /** Its cost as the provider reports it; null when it does not, never an estimate. */
  readonly usage: Usage
  /** The model that really answered, where the provider tells it. */
  readonly model: string | null
}

export interface ImageModel {
  /**
   * MUST send one request, whatever happens to it, because every request is paid for. MUST fail with a `ModelError`, and never with a
   * defect, for anything that the provider sends; an answer without a picture is a failure. MUST hold a bounded amount of what it reads.
   * MUST NOT follow the provider to another address, nor fetch one that it names. Interrupted, MUST close the connection.
   */
  readonly generate: (request: ImageRequest) => Effect.Effect<ImageAnswer, ModelError>
}

/**
 * Port: a provider that makes pictures from words and from other pictures. One request, one whole answer. The wing `media` (`ImagePart`)
 * adds for all providers: credit, limits, charges and storing.
 *
 * `imageModelSuite` of the contracts tests this contract.
 */
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { Usage } from "../primitives/Usage.ts"
import type { ModelError } from "./ModelError.ts"

/** The options of a picture, by the names of `image_config`: users and models both write them. */
export const ImageOptions = Schema.Struct({
  /** How many pictures. */
  n: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10 }))),
  /** `WIDTHxHEIGHT`, or a word that the model knows. */
  size: Schema.optionalKey(Schema.NonEmptyString),
  resolution: Schema.optionalKey(Schema.NonEmptyString),
  aspect_ratio: Schema.optionalKey(Schema.NonEmptyString),
  quality: Schema.optionalKey(Schema.NonEmptyString),
  background: Schema.optionalKey(Schema.NonEmptyString),
  /** No SVG, because a browser would run scripts in it. */
  output_format: Schema.optionalKey(Schema.Literals(["png", "jpeg", "webp"])),
  output_compression: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))),
  seed: Schema.optionalKey(Schema.Int)
})
export type ImageOptions = typeof ImageOptions.Type

/** A picture that the request contains. */
export interface InputImage {
  readonly mediaType: string
  readonly bytes: Uint8Array
}

/** What to draw, and the pictures to begin with. */
export interface ImageRequest {
  /** The name under which the host registered the provider. */
  readonly provider: string
  readonly model: string
  readonly prompt: string
  /** If not empty, these pictures are changed or imitated. */
  readonly inputs: ReadonlyArray<InputImage>
  readonly options: ImageOptions
  /** The customer's own key for this provider. It overrides the driver's key. */
  readonly apiKey: Redacted.Redacted<string> | null
}

/** The pictures that a model drew. */
export interface ImageReply {
  /** At least one, as the provider sent them. The wing checks their real type. */
  readonly images: ReadonlyArray<Uint8Array>
  /** The cost as the provider reports it; null when it does not, and never an estimate. */
  readonly usage: Usage
  /** The model that answered, if the provider reports it. */
  readonly model: string | null
}

export interface ImageModel {
  /**
   * MUST send one request only, whatever happens to it, because every request is paid for. MUST fail with a `ModelError`, and never with a
   * defect, for anything that the provider sends; an answer without a picture is a failure. MUST buffer a bounded amount of an answer. MUST NOT follow
   * the provider to another address, nor fetch an address that it names. When interrupted, MUST close the connection.
   */
  readonly generate: (request: ImageRequest) => Effect.Effect<ImageReply, ModelError>
}

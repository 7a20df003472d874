/**
 * The common part of the image protocols: one request, and one answer that contains the images as base64. A protocol defines how its request
 * is written and where the images are in the answer. An image that an answer only links to is ignored: links of a provider are never fetched.
 *
 * Used by `OpenAiImages`, `RouterImages` and `GeminiImages`.
 */
import type { Usage } from "@colloquy/core"
import { type ImageReply, type ImageModel, type ImageRequest, ModelError } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type { ApiKey } from "./ApiKey.ts"
import { isMultipart, type Multipart } from "./Multipart.ts"
import { type Call, type ErrorDialect, fetchJson, type TransportSettings } from "./Transport.ts"
import { fromBase64, text } from "./Wire.ts"

export interface ImageSettings extends TransportSettings {
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
}

export interface ImageProtocol extends ErrorDialect {
  readonly call: (request: ImageRequest) => Pick<Call, "url" | "secrets"> & { readonly body: object | Multipart }
  /** Reads the images of the answer, and whether the provider refused to make them. */
  readonly read: (body: unknown, request: ImageRequest) => ReadImages
}

export interface ReadImages {
  /** The images as they are in the answer: base64. */
  readonly images: ReadonlyArray<unknown>
  readonly usage: Usage
  readonly model: string | null
  /** Whether the provider refused to make the image. */
  readonly isRefused?: boolean
}

/** An image takes minutes, and the response begins only when it is finished. */
const imageTimeouts = { headTimeout: "10 minutes", bodyTimeout: "2 minutes" } as const

export const imageModel = (settings: ImageSettings, protocol: ImageProtocol): ImageModel => ({
  generate: (request) =>
    Effect.suspend(() => {
      const { body, ...target } = protocol.call(request)
      const { model, provider } = request
      const written = isMultipart(body) ? body : JSON.stringify(body)
      const call: Call = { provider, model, headers: { ...settings.headers }, ...target, body: written, isOnce: true }
      return Effect.flatMap(fetchJson(call, protocol, { ...imageTimeouts, ...settings }), (answer) =>
        imageReply(protocol.read(answer, request), request)
      )
    })
})

const imageReply = (
  { images, isRefused = false, model, usage }: ReadImages,
  { model: asked, provider }: ImageRequest
): Effect.Effect<ImageReply, ModelError> => {
  const found = images.flatMap((encoded) => text(encoded) ?? []).map(fromBase64)
  const given = found.filter(({ length }) => length > 0)
  if (given.length > 0) return Effect.succeed({ images: given, usage, model })
  // A malformed answer is not requested again, because the provider may already have charged for the image.
  const fault = isRefused
    ? ({ reason: "refused" } as const)
    : ({ reason: "malformed", code: "malformed_answer", shouldRetry: false } as const)
  return Effect.fail(new ModelError({ ...fault, provider, model: asked, usage }))
}

/**
 * What the image protocols have in common: one request, one whole answer, pictures as base64 inside it. A protocol says how its request is
 * written and where the pictures stand. A picture that an answer only names by an address is none: no address of a provider is fetched.
 *
 * Used by `OpenAiImages`, `RouterImages` and `GeminiImages`.
 */
import type { Usage } from "@colloquy/core"
import { type ImageAnswer, type ImageModel, type ImageRequest, ModelError } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type { ApiKey } from "./ApiKey.ts"
import type { Multipart } from "./Multipart.ts"
import { type Call, type ErrorDialect, fetchJson, type TransportSettings } from "./Transport.ts"
import { fromBase64, text } from "./Wire.ts"

export interface ImageSettings extends TransportSettings {
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
}

export interface ImageProtocol extends ErrorDialect {
  readonly call: (request: ImageRequest) => Pick<Call, "url" | "secrets"> & { readonly body: object | Multipart }
  /** What was found in the answer; a fault when it says that nothing was made. */
  readonly read: (body: unknown, request: ImageRequest) => ReadImages
}

export interface ReadImages {
  /** As they stand in the answer: base64. */
  readonly images: ReadonlyArray<unknown>
  readonly usage: Usage
  readonly model: string | null
  /** The provider says that it will not make this picture. */
  readonly isRefused?: boolean
}

/** A picture takes minutes, and nothing comes before it is done. */
const patience = { headTimeout: "10 minutes", bodyTimeout: "2 minutes" } as const

export const imageModel = (settings: ImageSettings, protocol: ImageProtocol): ImageModel => ({
  generate: (request) =>
    Effect.suspend(() => {
      const { body, ...place } = protocol.call(request)
      const { model, provider } = request
      const written = isForm(body) ? body : JSON.stringify(body)
      const call: Call = { provider, model, headers: { ...settings.headers }, ...place, body: written, isOnce: true }
      return Effect.flatMap(fetchJson(call, protocol, { ...patience, ...settings }), (answer) =>
        answerOf(protocol.read(answer, request), request)
      )
    })
})

const isForm = (body: object | Multipart): body is Multipart => "contentType" in body && "bytes" in body

const answerOf = (
  { images, isRefused = false, model, usage }: ReadImages,
  { model: asked, provider }: ImageRequest
): Effect.Effect<ImageAnswer, ModelError> => {
  const found = images.flatMap((encoded) => text(encoded) ?? []).map(fromBase64)
  const given = found.filter(({ length }) => length > 0)
  if (given.length > 0) return Effect.succeed({ images: given, usage, model })
  // What was made may have been paid for, and asking again would be paid for once more.
  const fault = isRefused
    ? ({ reason: "refused" } as const)
    : ({ reason: "malformed", code: "malformed_answer", shouldRetry: false } as const)
  return Effect.fail(new ModelError({ ...fault, provider, model: asked, usage }))
}

/** `data:` addresses are the only ones that carry a picture inside a request of JSON. */
export const dataUrl = (mediaType: string, encoded: string): string => `data:${mediaType};base64,${encoded}`

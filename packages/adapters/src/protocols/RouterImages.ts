/**
 * OpenRouter's `POST /images`: one form of request for the image models of all upstream providers. Input images are sent as `data:` URLs, and
 * the answer contains the cost. Used by `providers/OpenRouter`.
 */
import type { Usage } from "@colloquy/core"
import { type ImageModel, noUsage } from "@colloquy/core/adapters"
import { imageModel, type ImageSettings, type ReadImages } from "./Images.ts"
import { toFault } from "./OpenAiErrors.ts"
import { bearer } from "./Transport.ts"
import { count, dataUrl, finite, list, record } from "./Wire.ts"

export const model = (settings: ImageSettings): ImageModel =>
  imageModel(settings, {
    requestIdHeader: "x-generation-id",
    fault: toFault,
    call: ({ apiKey, inputs, model: name, options, prompt }) => ({
      url: `${settings.baseUrl}/images`,
      secrets: bearer(apiKey ?? settings.apiKey),
      body: {
        model: name,
        prompt,
        ...options,
        ...(inputs.length === 0
          ? {}
          : {
              input_references: inputs.map(({ bytes, mediaType }) => ({
                type: "image_url",
                image_url: { url: dataUrl(mediaType, bytes) }
              }))
            })
      }
    }),
    read
  })

const read = (body: unknown): ReadImages => {
  const { data, usage } = record(body)
  return { images: list(data).map((entry) => record(entry).b64_json), usage: readUsage(record(usage)), model: null }
}

const readUsage = ({ completion_tokens, cost, prompt_tokens }: { readonly [field: string]: unknown }): Usage => ({
  ...noUsage,
  inputTokens: count(prompt_tokens),
  outputTokens: count(completion_tokens),
  costUsd: finite(cost) ?? null
})

/**
 * `POST /images/generations` and, with pictures to begin with, `POST /images/edits` as OpenAI answers them. An edit is a form, because its
 * pictures are files. Used by `providers/OpenAi`.
 */
import type { Usage } from "@colloquy/core"
import { type ImageModel, type ImageRequest, noUsage } from "@colloquy/core/adapters"
import { imageModel, type ImageSettings, type ReadImages } from "./Images.ts"
import { type FormPart, multipart } from "./Multipart.ts"
import { faultOf } from "./OpenAiErrors.ts"
import { bearer } from "./Transport.ts"
import { count, isRecord, list, record } from "./Wire.ts"

export interface OpenAiImagesSettings extends ImageSettings {
  /** Models that give addresses instead of pictures, unless they are told not to. */
  readonly answersInAddresses: RegExp
}

export const model = (settings: OpenAiImagesSettings): ImageModel =>
  imageModel(settings, {
    requestIdHeader: "x-request-id",
    fault: faultOf,
    call: (request) => ({
      url: `${settings.baseUrl}/images/${request.inputs.length === 0 ? "generations" : "edits"}`,
      secrets: bearer(request.apiKey ?? settings.apiKey),
      body:
        request.inputs.length === 0
          ? fieldsOf(request, settings)
          : multipart(partsOf(request, fieldsOf(request, settings)))
    }),
    read
  })

const fieldsOf = ({ model: name, options, prompt }: ImageRequest, { answersInAddresses }: OpenAiImagesSettings) => ({
  model: name,
  prompt,
  ...options,
  ...(answersInAddresses.test(name) ? { response_format: "b64_json" } : {})
})

const partsOf = ({ inputs }: ImageRequest, fields: ReturnType<typeof fieldsOf>): ReadonlyArray<FormPart> => [
  ...Object.entries(fields).map(([name, value]) => ({ name, value: String(value) })),
  ...inputs.map(({ bytes, mediaType }, index) => ({
    name: inputs.length === 1 ? "image" : "image[]",
    filename: `input-${index + 1}.${mediaType.split("/")[1] ?? "png"}`,
    mediaType,
    bytes
  }))
]

const read = (body: unknown): ReadImages => {
  const { data, usage } = record(body)
  return { images: list(data).map((entry) => record(entry).b64_json), usage: usageOf(usage), model: null }
}

const usageOf = (usage: unknown): Usage =>
  isRecord(usage)
    ? { ...noUsage, inputTokens: count(usage.input_tokens), outputTokens: count(usage.output_tokens) }
    : noUsage

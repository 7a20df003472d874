/**
 * OpenAI's `POST /images/generations` and, for requests with input images, `POST /images/edits`. The body of an edit is a form that contains
 * the images as files. Used by `providers/OpenAi`.
 */
import type { Usage } from "@colloquy/core"
import { type ImageModel, type ImageRequest, noUsage } from "@colloquy/core/adapters"
import { imageModel, type ImageSettings, type ReadImages } from "./Images.ts"
import { type FormPart, multipart } from "./Multipart.ts"
import { toFault } from "./OpenAiErrors.ts"
import { bearer } from "./Transport.ts"
import { count, isRecord, list, record } from "./Wire.ts"

export interface OpenAiImagesSettings extends ImageSettings {
  /** Models that return links in place of images unless the request asks for base64. */
  readonly returnsLinks: RegExp
}

export const model = (settings: OpenAiImagesSettings): ImageModel =>
  imageModel(settings, {
    requestIdHeader: "x-request-id",
    fault: toFault,
    call: (request) => ({
      url: `${settings.baseUrl}/images/${request.inputs.length === 0 ? "generations" : "edits"}`,
      secrets: bearer(request.apiKey ?? settings.apiKey),
      body:
        request.inputs.length === 0
          ? requestFields(request, settings)
          : multipart(formParts(request, requestFields(request, settings)))
    }),
    read
  })

const requestFields = ({ model: name, options, prompt }: ImageRequest, { returnsLinks }: OpenAiImagesSettings) => ({
  model: name,
  prompt,
  ...options,
  ...(returnsLinks.test(name) ? { response_format: "b64_json" } : {})
})

const formParts = ({ inputs }: ImageRequest, fields: ReturnType<typeof requestFields>): ReadonlyArray<FormPart> => [
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
  return { images: list(data).map((entry) => record(entry).b64_json), usage: readUsage(usage), model: null }
}

const readUsage = (usage: unknown): Usage =>
  isRecord(usage)
    ? { ...noUsage, inputTokens: count(usage.input_tokens), outputTokens: count(usage.output_tokens) }
    : noUsage

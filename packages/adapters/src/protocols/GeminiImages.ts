/**
 * Images from Google: `generateContent` with image as the response modality, and `predict` for models that only make images. Neither reports
 * a price. Used by `providers/Gemini`.
 */
import { type ImageModel, type ImageRequest, noUsage } from "@colloquy/core/adapters"
import { readUsage, modelResource, callSecrets } from "./Gemini.ts"
import { errorDialect } from "./GeminiErrors.ts"
import { imageModel, type ImageSettings, type ReadImages } from "./Images.ts"
import { base64, list, record, string, text, type WireRecord } from "./Wire.ts"

export interface GeminiImagesSettings extends ImageSettings {
  /** The models that are called by `predict`. They accept no input images. */
  readonly predicting: RegExp
}

export const model = (settings: GeminiImagesSettings): ImageModel =>
  imageModel(settings, {
    ...errorDialect,
    call: (request) => {
      const predicts = settings.predicting.test(request.model)
      return {
        url: `${settings.baseUrl}/${modelResource(request.model)}:${predicts ? "predict" : "generateContent"}`,
        secrets: callSecrets(request.apiKey ?? settings.apiKey),
        body: predicts ? lowerPrediction(request) : lowerContent(request)
      }
    },
    read: (body, request) => (settings.predicting.test(request.model) ? readPredictions(body) : readContent(body))
  })

// ------ request

const lowerContent = ({ inputs, options, prompt }: ImageRequest): WireRecord => {
  const imageConfig = given({ aspectRatio: options.aspect_ratio, imageSize: options.resolution })
  return {
    contents: [
      {
        role: "user",
        parts: [
          ...inputs.map(({ bytes, mediaType }) => ({ inlineData: { mimeType: mediaType, data: base64(bytes) } })),
          { text: prompt }
        ]
      }
    ],
    generationConfig: {
      responseModalities: ["TEXT", "IMAGE"],
      ...given({ seed: options.seed }),
      ...(Object.keys(imageConfig).length === 0 ? {} : { imageConfig })
    }
  }
}

const lowerPrediction = ({ options, prompt }: ImageRequest): WireRecord => ({
  instances: [{ prompt }],
  parameters: given({
    sampleCount: options.n ?? 1,
    aspectRatio: options.aspect_ratio,
    sampleImageSize: options.resolution,
    outputOptions: options.output_format && { mimeType: `image/${options.output_format}` }
  })
})

const given = (fields: WireRecord): WireRecord =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

// ------ answer

/** Parts of reasoning are skipped: they may contain drafts of the image. */
const readContent = (body: unknown): ReadImages => {
  const { candidates, modelVersion, promptFeedback, usageMetadata } = record(body)
  const [candidate] = list(candidates).map(record)
  const parts = list(record(candidate?.content).parts).map(record)
  return {
    images: parts.flatMap((part) => (part.thought === true ? [] : [record(part.inlineData).data])),
    usage: readUsage(usageMetadata) ?? noUsage,
    model: text(modelVersion) ?? null,
    isRefused:
      text(record(promptFeedback).blockReason) !== undefined || refusals.has(string(candidate?.finishReason) ?? "")
  }
}

const refusals = new Set([
  "SAFETY",
  "PROHIBITED_CONTENT",
  "RECITATION",
  "BLOCKLIST",
  "SPII",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION"
])

const readPredictions = (body: unknown): ReadImages => {
  const predictions = list(record(body).predictions).map(record)
  return {
    images: predictions.map(({ bytesBase64Encoded }) => bytesBase64Encoded),
    usage: noUsage,
    model: null,
    isRefused: predictions.some(({ raiFilteredReason }) => text(raiFilteredReason) !== undefined)
  }
}

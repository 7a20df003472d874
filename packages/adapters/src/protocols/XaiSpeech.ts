/** `POST /stt` of xAI: a form with a recording, and one answer with its text. The vendor has a single model, so the request names none. */
import type { SpeechToText } from "@colloquy/core/adapters"
import { multipart } from "./Multipart.ts"
import { toFault } from "./OpenAiErrors.ts"
import { bearer } from "./Transport.ts"
import { speechToText, type VoiceSettings } from "./VoiceProtocol.ts"
import { finite, record, string } from "./Wire.ts"

export const transcription = (settings: VoiceSettings): SpeechToText =>
  speechToText(settings, {
    requestIdHeader: "x-request-id",
    fault: toFault,
    defaultModel: "grok-transcribe",
    maxBytes: 100 * 1024 * 1024,
    call: ({ apiKey, language, recording }) => ({
      url: `${settings.baseUrl}/stt`,
      secrets: bearer(apiKey ?? settings.apiKey),
      body: multipart([
        ...(language === null ? [] : [{ name: "language", value: language }]),
        { name: "file", filename: recording.filename, mediaType: recording.mimeType, bytes: recording.bytes }
      ])
    }),
    read: (body) => {
      const { duration, language, text } = record(body)
      if (typeof text !== "string") return null
      return { text, seconds: finite(duration) ?? null, language: string(language) ?? null, usage: null }
    }
  })

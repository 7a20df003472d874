/** Realtime models: one namespace for each vendor. A host registers models with `RealtimeModels.layer([OpenAiRealtime.model(…), …])`. */
export * as GeminiLive from "./GeminiLive.ts"
export * as LiveTranscription from "./LiveTranscription.ts"
export * as OpenAiRealtime from "./OpenAiRealtime.ts"
export * as XaiRealtime from "./XaiRealtime.ts"

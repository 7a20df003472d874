/** Realtime models: one namespace a vendor. A host registers what it uses with `RealtimeModels.layer([OpenAiRealtime.model(…), …])`. */
export * as GeminiLive from "./GeminiLive.ts"
export * as OpenAiRealtime from "./OpenAiRealtime.ts"
export * as XaiRealtime from "./XaiRealtime.ts"

/** A realtime model of parts (speech to text, a conversation model, text to speech), and a fallback for native ones. */
export { type Fallback, withFallback } from "./Fallback.ts"
export { byEnergy, type DetectorSettings, type TurnDetector, type TurnSignal } from "./TurnDetector.ts"
export * as VoiceParts from "./VoiceParts.ts"

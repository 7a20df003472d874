/** The wing `voice`: speech input before a turn, speech output while it is answered. `ARCHITECTURE.md` explains how it joins a turn. */
import { wingLayers } from "../primitives/WingLayer.ts"
import { voicePart } from "./VoicePart.ts"
import { VoiceSettings } from "./VoiceSettings.ts"

export { type NewRecording, Recordings } from "./Recordings.ts"
export { checkVoice, Recorded, type VoiceOptions, type VoiceProblem } from "./VoiceOptions.ts"
export { HeardRecord, KeptHeard, KeptSpoken, SpokenRecord, voiceEvents, voicePartName } from "./VoiceRecord.ts"
export { makeSpokenText, type SpokenText } from "./SpokenText.ts"
export { defaultVoiceSettings, type VoiceSettings } from "./VoiceSettings.ts"

/** Over `Kernel.layer` and the stores of documents: `Voice.layer()`. It gives `Recordings`. */
export const Voice = wingLayers(VoiceSettings, voicePart, {
  positive: ["maxRecordingBytes", "silence", "transcriptionTimeout", "speechTimeout", "maxSpeechBytes", "storeTimeout"],
  words: { recordings: ["with_message", "always", "never"] }
})

/** The wing `voice`: speech input before a turn, speech output after it. `ARCHITECTURE.md` explains how it joins a turn. */
export { type NewRecording, Recordings } from "./Recordings.ts"
export { checkVoice, Recorded, type VoiceOptions, type VoiceProblem } from "./VoiceOptions.ts"
export { voicePart } from "./VoicePart.ts"
export { HeardRecord, KeptHeard, KeptSpoken, SpokenRecord, voiceEvents, voicePartName } from "./VoiceRecord.ts"
export { defaultVoiceSettings, VoiceSettings } from "./VoiceSettings.ts"

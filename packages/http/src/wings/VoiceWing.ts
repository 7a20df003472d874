/** Voice: speech to text in, text to speech out. */
import { isRecord } from "../bodies/Json.ts"
import { isGiven, notAvailable, problem } from "./Fields.ts"
import type { RawFields, Wing } from "./Wing.ts"

const titles = { stt: "Speech-to-text", tts: "Text-to-speech" }
const directions = ["stt", "tts"] as const

const optionsIn = ({ voice }: RawFields): RawFields => (isRecord(voice) ? voice : {})

export const voiceWing: Wing = {
  part: "voice",
  message: {
    asked: (fields) =>
      directions
        .filter((name) => isGiven(optionsIn(fields)[name]))
        .map((name) => ({ path: ["voice", name], title: titles[name] })),
    problems: (fields, { files }) => {
      const hasAudio = files.some((file) => file.field === "audio_file")
      if (hasAudio) return [notAvailable(["audio_file"], "Audio input")]
      return isGiven(optionsIn(fields)["stt"])
        ? [problem(["audio_file"], "missing", "Field required when voice.stt is given; send it as multipart/form-data")]
        : []
    },
    options: ({ voice }) => voice ?? null,
    place: (path) => ["voice", ...path]
  }
}

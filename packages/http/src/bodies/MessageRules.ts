/**
 * Pure: rules between the fields of a message body (specification part 4), and the honest answer to options that this
 * server does not have: refused by name, never accepted and forgotten. Held against the raw body, so that they stand beside all other
 * problems.
 */
import type { ValidationError } from "../wire/Errors.ts"
import { repeatedToolNames } from "../wire/Tools.ts"
import { isRecord } from "./Json.ts"
import type { BodyRules, RawBody } from "./RequestBody.ts"

type Fields = Readonly<Record<string, unknown>>

const problem = (field: string | ReadonlyArray<string | number>, type: string, msg: string): ValidationError => ({
  loc: ["body", ...(typeof field === "string" ? [field] : field)],
  msg,
  type
})

const notAvailable = (field: string | ReadonlyArray<string | number>, what: string) =>
  problem(field, "not_available", `${what} is not available on this server. Leave the field out.`)

const isGiven = (value: unknown): boolean => value !== undefined && value !== null
const isOn = (value: unknown, ...modes: ReadonlyArray<string>): boolean =>
  typeof value === "string" && modes.includes(value)
const isBlank = (value: unknown): boolean => !isGiven(value) || (typeof value === "string" && value.trim() === "")

const memoryModes = ["Auto", "Readonly"]

const aboutMemory = ({ memory, memory_pro }: Fields): ReadonlyArray<ValidationError> => [
  ...(isOn(memory, ...memoryModes) && isGiven(memory_pro) && memory_pro !== "off"
    ? [problem("memory_pro", "conflict", "memory_pro cannot be combined with memory")]
    : []),
  ...(isOn(memory, ...memoryModes) ? [notAvailable("memory", "Memory")] : []),
  ...(isOn(memory_pro, ...memoryModes) ? [notAvailable("memory_pro", "Memory")] : [])
]

const aboutGeneration = (fields: Fields, kind: "image" | "video"): ReadonlyArray<ValidationError> => {
  if (!isOn(fields[`${kind}_generation`], "auto")) return []
  const required = [`${kind}_model_provider`, `${kind}_model_name`].filter((name) => isBlank(fields[name]))
  return [
    ...required.map((name) => problem(name, "missing", `Field required when ${kind}_generation is auto`)),
    notAvailable(`${kind}_generation`, kind === "image" ? "Image generation" : "Video generation")
  ]
}

const aboutVoice = ({ voice }: Fields, { files }: RawBody): ReadonlyArray<ValidationError> => {
  const options = isRecord(voice) ? voice : {}
  const hasAudio = files.some((file) => file.field === "audio_file")
  return [
    ...(["stt", "tts"] as const)
      .filter((name) => isGiven(options[name]))
      .map((name) => notAvailable(["voice", name], name === "stt" ? "Speech-to-text" : "Text-to-speech")),
    ...(isGiven(options["stt"]) && !hasAudio
      ? [problem("audio_file", "missing", "Field required when voice.stt is given; send it as multipart/form-data")]
      : []),
    ...(hasAudio ? [notAvailable("audio_file", "Audio input")] : [])
  ]
}

const aboutFiles = ({ files }: RawBody): ReadonlyArray<ValidationError> =>
  files
    .filter((file) => file.field === "files")
    .map((_file, index) => notAvailable(["files", index], "Attaching files"))

const aboutContent = (fields: Fields, { files }: RawBody): ReadonlyArray<ValidationError> =>
  isBlank(fields["content"]) && files.length === 0 && !isGiven(fields["system_one"])
    ? [problem("content", "missing", "The message has no content. Send text, a file, audio or a state.")]
    : []

const shared = (fields: Fields, raw: RawBody): ReadonlyArray<ValidationError> => [
  ...repeatedToolNames(fields["tools"]),
  ...aboutMemory(fields),
  ...(isOn(fields["web_search"], "Auto") ? [notAvailable("web_search", "Web search")] : []),
  ...aboutGeneration(fields, "image"),
  ...aboutVoice(fields, raw),
  ...aboutFiles(raw),
  ...aboutContent(fields, raw)
]

export const messageRules: BodyRules = (raw) => (isRecord(raw.value) ? shared(raw.value, raw) : [])

export const statelessMessageRules: BodyRules = (raw) => {
  const fields = raw.value
  if (!isRecord(fields)) return []
  return [
    ...shared(fields, raw),
    ...aboutGeneration(fields, "video"),
    ...(isGiven(fields["system_one"]) ? [notAvailable("system_one", "Typed answers")] : [])
  ]
}

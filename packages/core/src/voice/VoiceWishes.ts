/**
 * Pure: the voice options of a message with the providers that will handle them, or all reasons why that is not possible. Checked before
 * anything is heard, because hearing costs money.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { SpeechFormat } from "../models/TextToSpeech.ts"
import type { Hearing } from "./Transcription.ts"
import { vendorFormat } from "./SpeechAudio.ts"
import { isChosen, type VoiceModels } from "./VoiceModels.ts"
import { checkVoice, decodeVoice, type VoiceOptions, type VoiceProblem } from "./VoiceOptions.ts"

/** In the form in which a plan stores it. */
export interface SpeechPlan {
  readonly provider: string
  readonly model: string
  readonly voice: string | null
  readonly format: SpeechFormat
  readonly speed: number | null
}

export interface Wishes {
  readonly hearing: Omit<Hearing, "assistantId" | "isStreamed" | "rewrite"> | null
  readonly speech: SpeechPlan | null
}

type Problems = ReadonlyArray<VoiceProblem>

export const nothingWished: Wishes = { hearing: null, speech: null }

export const readWishes = (options: Schema.Json, models: VoiceModels): Result.Result<Wishes, Problems> => {
  const wrong = checkVoice(readMembers(options))
  const decoded = decodeVoice(options)
  if (wrong.length > 0) return Result.fail(wrong)
  if (Option.isNone(decoded)) return Result.fail([{ path: ["recording"], message: "The recording cannot be read." }])
  const hearing = readHearing(decoded.value, models)
  const speech = readSpeech(decoded.value, models)
  if (Result.isSuccess(hearing) && Result.isSuccess(speech)) {
    return Result.succeed({ hearing: hearing.success, speech: speech.success })
  }
  return Result.fail([...failureOrNone(hearing), ...failureOrNone(speech)])
}

const failureOrNone = (result: Result.Result<unknown, Problems>): Problems =>
  Result.isFailure(result) ? result.failure : []

const readHearing = (
  { recording, stt }: VoiceOptions,
  models: VoiceModels
): Result.Result<Wishes["hearing"], Problems> => {
  if (!stt) {
    return recording
      ? Result.fail([{ path: ["recording"], message: 'A recording is heard with "stt" only.' }])
      : Result.succeed(null)
  }
  const chosen = models.hearing(stt)
  const problems = [
    ...(isChosen(chosen) ? [] : [chosen]),
    ...(recording ? [] : [{ path: ["recording"], message: "Speech-to-text needs a recording." }])
  ]
  return isChosen(chosen) && recording
    ? Result.succeed({ recorded: recording, options: stt, chosen })
    : Result.fail(problems)
}

const formats = ["mp3", "wav", "pcm"] as const

const readSpeech = ({ tts }: VoiceOptions, models: VoiceModels): Result.Result<SpeechPlan | null, Problems> => {
  if (!tts) return Result.succeed(null)
  const chosen = models.speaking(tts)
  if (!isChosen(chosen)) return Result.fail([chosen])
  const { driver, model, provider } = chosen
  const format = tts.format ?? driver.formats[0]
  if (vendorFormat(format, driver) === null) {
    const possible = formats.filter((each) => vendorFormat(each, driver) !== null).join(", ")
    return Result.fail([{ path: ["tts", "format"], message: `"${provider}" cannot give that. It gives ${possible}.` }])
  }
  if (driver.hasSpeed === false && (tts.speed ?? 1) !== 1) {
    return Result.fail([
      { path: ["tts", "speed"], message: `"${provider}" speaks at normal speed only. Leave it out.` }
    ])
  }
  return Result.succeed({ provider, model, format, voice: tts.voice ?? null, speed: tts.speed ?? null })
}

/** The options without the fields that the server itself added to the members of `voice`. */
const readMembers = (options: Schema.Json): unknown => {
  if (typeof options !== "object" || options === null || Array.isArray(options)) return options
  return Object.fromEntries(Object.entries(options).filter(([name]) => name !== "recording"))
}

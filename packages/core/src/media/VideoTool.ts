/**
 * Pure: the definition of `generate_video` for a model, and the reading of its calls. The model is offered what the video model supports
 * and `video_config` leaves open. Other arguments are refused, or dropped and reported.
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type { VideoOptions } from "../models/VideoModel.ts"
import type { ToolDefinition } from "../tools/ToolDefinition.ts"
import { mayBe, type VideoAbilities } from "./VideoAbilities.ts"
import { fixedBy, readVideoOptions, refusedOptions, type VideoOptionName, type VideoProblem } from "./VideoConfig.ts"

const videoToolName = "generate_video"

/** The documents that a call names, by their use in the video. */
export interface VideoInputs {
  readonly firstFrame: string | null
  readonly lastFrame: string | null
  readonly references: ReadonlyArray<string>
  /** A video to continue from. */
  readonly video: string | null
}

export interface VideoRequest {
  readonly prompt: string
  readonly options: VideoOptions
  readonly inputs: VideoInputs
  /** Arguments without an effect. */
  readonly dropped: ReadonlyArray<string>
}

/** A call with more references is a mistake. */
const maximumReferences = 16

// The inputs that a model accepts.

interface Modes {
  readonly firstFrame: boolean
  readonly lastFrame: boolean
  readonly references: boolean
  readonly video: boolean
}

/** If the support is unknown, pictures are tried; sound and video are sent only if the model is known to accept them. */
const videoModes = ({ audioInput, frameImages, imageInput, videoInput }: VideoAbilities): Modes => {
  const takesFrame = (frame: string) => imageInput !== false && mayBe(frameImages, frame)
  return {
    firstFrame: takesFrame("first_frame"),
    lastFrame: takesFrame("first_frame") && takesFrame("last_frame"),
    references: imageInput !== false || audioInput === true || videoInput === true,
    video: videoInput === true
  }
}

/** The kinds of references that the model accepts, as text for the tool's description. */
const inputKinds = ({ audioInput, imageInput, videoInput }: VideoAbilities): string =>
  [imageInput !== false ? "image" : [], audioInput === true ? "audio" : [], videoInput === true ? "video" : []]
    .flat()
    .join(", ")

// The definition.

const documentId = (description: string) => ({ type: "string", description })

const enumSchema = (type: string, list: VideoAbilities["durations"], description: string): Schema.JsonObject =>
  list === null ? { type, description } : { enum: list, description }

/** Parameters for the options; options that are not in this list are never offered. */
const optionParameters = (abilities: VideoAbilities): { readonly [Name in VideoOptionName]?: Schema.JsonObject } => ({
  ...(isEmpty(abilities.durations)
    ? {}
    : { duration: enumSchema("number", abilities.durations, "Length of the clip in seconds.") }),
  ...(isEmpty(abilities.resolutions)
    ? {}
    : { resolution: enumSchema("string", abilities.resolutions, "Such as 720p. Not together with size.") }),
  ...(isEmpty(abilities.aspectRatios)
    ? {}
    : { aspect_ratio: enumSchema("string", abilities.aspectRatios, "Such as 16:9. Not together with size.") }),
  ...(isEmpty(abilities.sizes)
    ? {}
    : { size: enumSchema("string", abilities.sizes, "WIDTHxHEIGHT, instead of resolution and aspect_ratio.") }),
  ...(abilities.generateAudio === false
    ? {}
    : { generate_audio: { type: "boolean", description: "Whether the clip has sound." } }),
  ...(abilities.seed === false ? {} : { seed: { type: "integer", description: "Equal seeds give similar clips." } }),
  ...(abilities.upscaleFactor === null
    ? {}
    : {
        upscale_factor: {
          type: "number",
          ...(abilities.upscaleFactor.min === null ? {} : { minimum: abilities.upscaleFactor.min }),
          ...(abilities.upscaleFactor.max === null ? {} : { maximum: abilities.upscaleFactor.max })
        }
      }),
  ...(abilities.creativity === null || isEmpty(abilities.creativity)
    ? {}
    : { creativity: { enum: abilities.creativity } })
})

const isEmpty = (list: VideoAbilities["durations"]): boolean => list !== null && list.length === 0

const inputParameters = (abilities: VideoAbilities): Schema.JsonObject => {
  const modes = videoModes(abilities)
  return {
    ...(modes.firstFrame ? { input_image_document_id: documentId("Id of a picture that is the first frame.") } : {}),
    ...(modes.lastFrame
      ? { input_last_frame_document_id: documentId("Id of a picture that is the last frame; needs a first frame.") }
      : {}),
    ...(modes.references
      ? {
          input_reference_document_ids: {
            type: "array",
            items: { type: "string" },
            description: `Ids of documents (${inputKinds(abilities)}) that guide the clip. Not together with frames.`
          }
        }
      : {}),
    ...(modes.video ? { input_video_document_id: documentId("Id of a video to make a new one of.") } : {})
  }
}

export const videoToolFor = (abilities: VideoAbilities, config: VideoOptions): ToolDefinition => {
  const fixed = fixedBy(config)
  const options = Object.entries(optionParameters(abilities)).filter(([name]) => !isFixed(fixed, name))
  return {
    name: videoToolName,
    description:
      "Makes a video of what the prompt describes and shows it to the user. It takes minutes and costs money: call it only when the user " +
      "wants a video, and not again after a failure unless the user asks for it.",
    parameters: {
      type: "object",
      properties: {
        prompt: { type: "string", description: "What the video shows, with style, movement and camera." },
        ...Object.fromEntries([...options, ...Object.entries(inputParameters(abilities))])
      },
      required: ["prompt"]
    }
  }
}

const isFixed = (fixed: ReadonlySet<string>, name: string): boolean => fixed.has(name)

// The call.

const inputNames = {
  firstFrame: "input_image_document_id",
  lastFrame: "input_last_frame_document_id",
  references: "input_reference_document_ids",
  video: "input_video_document_id"
} as const

const inputArguments: ReadonlySet<string> = new Set(Object.values(inputNames))

/** Reads a call and checks it against the model's entry and the configuration. */
export const readVideoCall = (
  args: Schema.JsonObject,
  config: VideoOptions,
  abilities: VideoAbilities
): Result.Result<VideoRequest, ReadonlyArray<VideoProblem>> => {
  const fixed = fixedBy(config)
  const wished = Object.entries(args).filter(
    ([name, value]) => name !== "prompt" && !inputArguments.has(name) && value !== null
  )
  // The user decides the routing, and the tool does not offer it to the model.
  const dropped = wished.map(([name]) => name).filter((name) => isFixed(fixed, name) || name === "provider")
  const options = readVideoOptions(Object.fromEntries(wished.filter(([name]) => !dropped.includes(name))))
  const inputs = readInputs(args)
  const problems = [
    ...(promptIn(args) === "" ? [{ path: ["prompt"], message: "Say in `prompt` what the video shows." }] : []),
    ...inputs.problems,
    ...inputConflicts(inputs.found, abilities),
    ...options.problems,
    ...refusedOptions(options.options, abilities)
  ]
  if (problems.length > 0) return Result.fail(problems)
  return Result.succeed({
    prompt: promptIn(args),
    options: { ...options.options, ...config },
    inputs: inputs.found,
    dropped
  })
}

const promptIn = ({ prompt }: Schema.JsonObject): string => (typeof prompt === "string" ? prompt.trim() : "")

const readInputs = (args: Schema.JsonObject) => {
  const problems: Array<VideoProblem> = []
  const one = (name: string): string | null => {
    const value = args[name] ?? null
    if (value === null || value === "") return null
    if (typeof value === "string") return value
    problems.push({ path: [name], message: `${name} must be the id of one document.` })
    return null
  }
  const many = (name: string): ReadonlyArray<string> => {
    const value = args[name] ?? []
    const list: ReadonlyArray<Schema.Json> = Array.isArray(value) ? value : [value]
    const ids = list.filter((id) => typeof id === "string" && id !== "").map(String)
    if (ids.length === list.length && ids.length <= maximumReferences) return ids
    problems.push({ path: [name], message: `${name} must be a list of up to ${maximumReferences} ids of documents.` })
    return []
  }
  const found: VideoInputs = {
    firstFrame: one(inputNames.firstFrame),
    lastFrame: one(inputNames.lastFrame),
    references: many(inputNames.references),
    video: one(inputNames.video)
  }
  return { found, problems }
}

const inputConflicts = (inputs: VideoInputs, abilities: VideoAbilities): ReadonlyArray<VideoProblem> => {
  const modes = videoModes(abilities)
  const hasFrames = inputs.firstFrame !== null || inputs.lastFrame !== null
  const hasReferences = inputs.references.length > 0
  const refuse = (isWrong: boolean, input: keyof typeof inputNames, message: string) =>
    isWrong ? [{ path: [inputNames[input]], message }] : []
  return [
    ...refuse(inputs.firstFrame !== null && !modes.firstFrame, "firstFrame", "This model takes no first frame."),
    ...refuse(inputs.lastFrame !== null && !modes.lastFrame, "lastFrame", "This model takes no last frame."),
    ...refuse(hasReferences && !modes.references, "references", "This model takes no references."),
    ...refuse(inputs.video !== null && !modes.video, "video", "This model takes no video."),
    ...refuse(
      inputs.lastFrame !== null && inputs.firstFrame === null,
      "lastFrame",
      `A last frame needs a first one: give ${inputNames.firstFrame} too.`
    ),
    ...refuse(
      hasFrames && hasReferences,
      "references",
      "Frames and references cannot be combined. Choose one of them."
    ),
    ...refuse(
      inputs.video !== null && (hasFrames || hasReferences),
      "video",
      "A video to start from cannot be combined with frames or references. Choose one of them."
    )
  ]
}

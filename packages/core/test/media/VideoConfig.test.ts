/** What `video_config` may hold, and how the tool is shown and read: pure tables. Specification part 4, "Video tool rules" 2 to 5. */
import { describeModel } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { videoAbilities } from "../../src/media/VideoAbilities.ts"
import { expectedPrice, readVideoOptions, refusedOptions } from "../../src/media/VideoConfig.ts"
import { readVideoCall, videoToolFor } from "../../src/media/VideoTool.ts"
import { knownModel } from "../support/VideoRoom.ts"

const video = { provider: "router", modelType: "video" as const }
const known = videoAbilities(describeModel({ ...knownModel, ...video }))
const nothingKnown = videoAbilities(describeModel({ name: "acme/clip", ...video }))
const withDetails = (details: Schema.JsonObject, more: object = {}) =>
  videoAbilities(describeModel({ name: "m", ...video, ...more, details }))

const problemPaths = (config: Schema.Json, abilities = known): ReadonlyArray<string> => {
  const { options, problems } = readVideoOptions(config)
  return [...problems, ...refusedOptions(options, abilities)].map(({ path }) => path.join("."))
}

describe("video_config", () => {
  const good: Schema.JsonObject = {
    duration: 5,
    resolution: "720p",
    aspect_ratio: "16:9",
    generate_audio: true,
    seed: 0,
    provider: { only: ["a"], order: ["b"], ignore: [], sort: "price", allow_fallbacks: false }
  }

  it("takes every option that the model has", () => {
    assert.deepStrictEqual(problemPaths(good), [])
    assert.deepStrictEqual(problemPaths({ size: "1280x720" }), [])
  })

  it("nulls are options that were left out", () => {
    assert.deepStrictEqual(readVideoOptions({ duration: null, provider: { only: null, sort: "price" } }), {
      options: { provider: { sort: "price" } },
      problems: []
    })
    assert.deepStrictEqual(problemPaths({ size: "1280x720", resolution: null }), [])
  })

  for (const [title, config, places] of [
    ["an unknown option", { style: "noir" }, ["style"]],
    ["arbitrary provider options", { provider: { options: { acme: { x: 1 } }, only: ["a"] } }, ["provider.options"]],
    ["size with resolution", { size: "1280x720", resolution: "720p" }, ["size"]],
    ["size with aspect ratio", { size: "1280x720", aspect_ratio: "16:9" }, ["size"]],
    ["a duration that is not supported", { duration: 7 }, ["duration"]],
    ["a resolution that is not supported", { resolution: "8K" }, ["resolution"]],
    ["an aspect ratio that is not supported", { aspect_ratio: "1:1" }, ["aspect_ratio"]],
    ["a size that is not supported", { size: "1x1" }, ["size"]],
    ["upscale_factor for a model that does not advertise it", { upscale_factor: 2 }, ["upscale_factor"]],
    ["creativity for a model that does not advertise it", { creativity: 1 }, ["creativity"]],
    ["a size that is none", { size: "large" }, ["size"]],
    ["a duration of nothing", { duration: 0 }, ["duration"]],
    ["a seed that is no integer", { seed: 1.5 }, ["seed"]],
    ["another order of sorting", { provider: { sort: "beauty" } }, ["provider.sort"]],
    ["a list of routing that is none", { provider: { only: "a" } }, ["provider.only"]],
    ["routing that is none", { provider: "a" }, ["provider"]],
    ["no object", "5 seconds", [""]],
    ["a list", [], [""]]
  ] as const) {
    it(`refuses ${title}`, () => assert.deepStrictEqual(problemPaths(config), places))
  }

  it("finds every problem, of names, types, combinations and the model", () => {
    const config = {
      style: 1,
      size: "1280x720",
      resolution: "720p",
      duration: 7,
      upscale_factor: 2,
      seed: "x",
      provider: { options: {}, zdr: true }
    }
    assert.sameMembers(
      [...problemPaths(config)],
      ["style", "provider.options", "provider.zdr", "seed", "size", "duration", "upscale_factor"]
    )
  })

  it("what the catalogue does not know is passed on", () => {
    const config = { duration: 7, resolution: "8K", aspect_ratio: "1:1", generate_audio: true, seed: 3 }
    assert.deepStrictEqual(problemPaths(config, nothingKnown), [])
    assert.deepStrictEqual(problemPaths({ size: "1x1" }, nothingKnown), [])
  })

  it("null of upscale_factor and creativity is no advertisement", () => {
    assert.deepStrictEqual(problemPaths({ upscale_factor: 2, creativity: 1 }, nothingKnown), [
      "upscale_factor",
      "creativity"
    ])
    const upscaler = withDetails({ upscale_factor: { min: 1, max: 4 }, creativity: [0, 1] })
    assert.deepStrictEqual(problemPaths({ upscale_factor: 2, creativity: 1 }, upscaler), [])
    assert.deepStrictEqual(problemPaths({ upscale_factor: 5, creativity: 3 }, upscaler), [
      "upscale_factor",
      "creativity"
    ])
  })

  it("sound and seed are refused where the model has none, and silence is not", () => {
    const mute = withDetails({ generate_audio: false, seed: false })
    assert.deepStrictEqual(problemPaths({ generate_audio: true, seed: 1 }, mute), ["generate_audio", "seed"])
    assert.deepStrictEqual(problemPaths({ generate_audio: false }, mute), [])
  })

  it("a price is known where the catalogue and the options tell it", () => {
    assert.strictEqual(expectedPrice({ duration: 10 }, known), 0.8)
    assert.strictEqual(expectedPrice({ duration: 10, resolution: "1080p" }, known), 1.2)
    assert.isNull(expectedPrice({}, known))
    assert.isNull(expectedPrice({ duration: 10 }, nothingKnown))
  })
})

const parameterNames = (abilities = known, config: Parameters<typeof videoToolFor>[1] = {}) => {
  const parameters = videoToolFor(abilities, config).parameters ?? {}
  const { properties } = parameters
  return typeof properties === "object" && properties !== null ? Object.keys(properties).toSorted() : []
}

const everyOption = ["aspect_ratio", "duration", "generate_audio", "resolution", "seed", "size"]
const frames = ["input_image_document_id", "input_last_frame_document_id"]
const reference = "input_reference_document_ids"
const clip = "input_video_document_id"

describe("generate_video is shown to the model", () => {
  it("as far as the entry allows", () => {
    assert.deepStrictEqual(parameterNames(), [...everyOption, ...frames, reference, "prompt"].toSorted())
    assert.deepStrictEqual(parameterNames(nothingKnown), [...everyOption, ...frames, reference, "prompt"].toSorted())
    const poor = withDetails(
      {
        supported_durations: [],
        supported_resolutions: [],
        supported_aspect_ratios: [],
        supported_sizes: [],
        supported_frame_images: ["first_frame"],
        generate_audio: false,
        seed: false
      },
      { supportsVision: true }
    )
    assert.deepStrictEqual(parameterNames(poor), ["input_image_document_id", reference, "prompt"])
    const blind = withDetails({}, { supportsVision: false })
    assert.deepStrictEqual(parameterNames(blind), [...everyOption, "prompt"].toSorted())
    const seeing = withDetails({}, { supportsVision: false, supportsVideoInput: true })
    assert.deepStrictEqual(parameterNames(seeing), [...everyOption, reference, clip, "prompt"].toSorted())
    assert.includeMembers(parameterNames(withDetails({ upscale_factor: { min: 1, max: 2 }, creativity: [1] })), [
      "upscale_factor",
      "creativity"
    ])
  })

  it("with the values of the entry", () => {
    const { parameters } = videoToolFor(known, {})
    assert.nestedInclude(parameters, { "properties.duration.enum[1]": 10, "properties.size.enum[0]": "1280x720" })
    assert.deepStrictEqual(parameters?.["required"], ["prompt"])
  })

  it("without what video_config fixes, and what that excludes", () => {
    assert.notIncludeMembers(parameterNames(known, { duration: 5, seed: 1 }), ["duration", "seed"])
    const sized = parameterNames(known, { size: "1280x720" })
    for (const name of ["size", "resolution", "aspect_ratio"]) assert.notInclude(sized, name)
    assert.notInclude(parameterNames(known, { resolution: "720p" }), "size")
    assert.include(parameterNames(known, { resolution: "720p" }), "aspect_ratio")
  })

  it("and never with routing", () => assert.notInclude(parameterNames(nothingKnown), "provider"))
})

const prompt = "A boat"
const read = (args: Schema.JsonObject, abilities = known, config: Parameters<typeof videoToolFor>[1] = {}) =>
  readVideoCall(Object.assign({ prompt }, args), config, abilities)
const refusals = (args: Schema.JsonObject, abilities = known): ReadonlyArray<string> =>
  Result.match(read(args, abilities), {
    onSuccess: () => [],
    onFailure: (problems) => problems.map(({ path }) => path.join("."))
  })

describe("a call of generate_video", () => {
  it("has five modes", () => {
    const inputs = (args: Schema.JsonObject, abilities = known) =>
      Result.getOrThrow(Result.map(read(args, abilities), (request) => request.inputs))
    const none = { firstFrame: null, lastFrame: null, references: [], video: null }
    const listening = withDetails({}, { supportsVideoInput: true, supportsAudioInput: true })
    assert.deepStrictEqual(inputs({}), none)
    assert.deepStrictEqual(inputs({ input_image_document_id: "a" }), { ...none, firstFrame: "a" })
    assert.deepStrictEqual(inputs({ input_image_document_id: "a", input_last_frame_document_id: "b" }), {
      ...none,
      firstFrame: "a",
      lastFrame: "b"
    })
    assert.deepStrictEqual(inputs({ [reference]: ["a", "b"] }, listening), { ...none, references: ["a", "b"] })
    assert.deepStrictEqual(inputs({ [clip]: "v" }, listening), { ...none, video: "v" })
  })

  it("explicit configuration is fixed; arguments only fill what was left out", () => {
    const request = Result.getOrThrow(
      read({ duration: 10, resolution: "1080p", provider: { only: ["x"] }, seed: null }, known, { duration: 5 })
    )
    assert.deepStrictEqual(request.options, { resolution: "1080p", duration: 5 })
    assert.deepStrictEqual(request.dropped, ["duration", "provider"])
    const sized = Result.getOrThrow(read({ resolution: "1080p" }, known, { size: "1280x720" }))
    assert.deepStrictEqual(sized.options, { size: "1280x720" })
    assert.deepStrictEqual(sized.dropped, ["resolution"])
  })

  const takesAll = withDetails({}, { supportsVision: true, supportsVideoInput: true, supportsAudioInput: true })
  for (const [title, args, places, abilities] of [
    ["without a prompt", { prompt: " " }, ["prompt"], known],
    ["frames with references", { input_image_document_id: "a", [reference]: ["b"] }, [reference], takesAll],
    ["a clip with frames", { input_image_document_id: "a", [clip]: "b" }, [clip], takesAll],
    ["a clip with references", { [reference]: ["a"], [clip]: "b" }, [clip], takesAll],
    ["a last frame without a first", { input_last_frame_document_id: "b" }, ["input_last_frame_document_id"], known],
    ["a clip for a model that takes none", { [clip]: "v" }, [clip], known],
    ["a clip for a model of which that is not known", { [clip]: "v" }, [clip], nothingKnown],
    ["references that are no list of ids", { [reference]: [1] }, [reference], known],
    ["an option that there is not", { style: "noir" }, ["style"], known],
    ["a duration that is not supported", { duration: 7 }, ["duration"], known],
    ["size with resolution", { size: "1280x720", resolution: "720p" }, ["size"], known]
  ] as const) {
    it(`refuses ${title}`, () => assert.deepStrictEqual(refusals(args, abilities), places))
  }
})

/**
 * Pure: checks the options of a video against the abilities of the model. The same check is used for `video_config`, before anything of a
 * turn is stored, and for the model's call, before anything is ordered. It finds all problems, not only the first.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { VideoOptions, VideoRouting } from "../models/VideoModel.ts"
import { mayBe, type VideoAbilities } from "./VideoAbilities.ts"

export interface VideoProblem {
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

export type VideoOptionName = keyof VideoOptions

const isObject = Schema.is(Schema.JsonObject)
const decode = Schema.decodeUnknownResult(VideoOptions, { errors: "all" })
const format = SchemaIssue.makeFormatterStandardSchemaV1()

const isOption = (name: string): name is VideoOptionName => Object.hasOwn(VideoOptions.fields, name)

/** A null counts as an absent option. */
const given = (fields: Schema.JsonObject): Schema.JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

export interface VideoOptionsRead {
  /** All valid options; invalid ones are left out. */
  readonly options: VideoOptions
  readonly problems: ReadonlyArray<VideoProblem>
}

/** Checks that do not depend on the model: names, types, and options that exclude each other. */
export const readVideoOptions = (json: unknown): VideoOptionsRead => {
  if (json === undefined || json === null) return { options: {}, problems: [] }
  if (!isObject(json)) return { options: {}, problems: [{ path: [], message: "Give an object with options." }] }
  const { provider, ...rest } = given(json)
  const fields = provider === undefined ? rest : { ...rest, provider: isObject(provider) ? given(provider) : provider }
  const decoded = decode(fields)
  const wrong = Result.isFailure(decoded) ? problemsIn(decoded.failure) : []
  const broken = new Set(wrong.map(({ path }) => path[0]))
  const sound = Object.fromEntries(Object.entries(fields).filter(([name]) => !broken.has(name)))
  return {
    options: Result.getOrElse(decode(sound), () => ({})),
    problems: [...unknownOptions(fields), ...wrong, ...conflicts(fields)]
  }
}

const problemsIn = ({ issue }: Schema.SchemaError): ReadonlyArray<VideoProblem> =>
  format(issue).issues.map(({ message, path = [] }) => ({ path: path.map(pathStep), message }))

const pathStep = (step: unknown): string | number => (typeof step === "number" ? step : String(step))

const unknownOptions = (fields: Schema.JsonObject): ReadonlyArray<VideoProblem> => {
  const { provider } = fields
  const routing = provider !== undefined && isObject(provider) ? Object.keys(provider) : []
  const known = Object.keys(VideoRouting.fields)
  return [
    ...Object.keys(fields)
      .filter((name) => !isOption(name))
      .map((name) => ({ path: [name], message: `There is no option "${name.slice(0, 100)}" for videos.` })),
    ...routing
      .filter((name) => !known.includes(name))
      .map((name) => ({
        path: ["provider", name],
        message: `"${name.slice(0, 100)}" is not an option of the provider. Options: ${known.join(", ")}.`
      }))
  ]
}

const conflicts = (fields: Schema.JsonObject): ReadonlyArray<VideoProblem> => {
  const beside = ["resolution", "aspect_ratio"].filter((name) => fields[name] !== undefined)
  return fields["size"] === undefined || beside.length === 0
    ? []
    : [{ path: ["size"], message: `size cannot be combined with ${beside.join(" and ")}. Give one or the other.` }]
}

/** The options that this model does not support. Options of unknown support are passed on. */
export const refusedOptions = (options: VideoOptions, abilities: VideoAbilities): ReadonlyArray<VideoProblem> =>
  [
    ...notIn("duration", options.duration, abilities.durations),
    ...notIn("resolution", options.resolution, abilities.resolutions),
    ...notIn("aspect_ratio", options.aspect_ratio, abilities.aspectRatios),
    ...notIn("size", options.size, abilities.sizes),
    options.generate_audio === true && abilities.generateAudio === false
      ? { path: ["generate_audio"], message: "This model makes no sound." }
      : [],
    options.seed !== undefined && abilities.seed === false
      ? { path: ["seed"], message: "This model takes no seed." }
      : [],
    ...upscaling(options.upscale_factor, abilities.upscaleFactor),
    options.creativity !== undefined && abilities.creativity === null
      ? notAdvertised("creativity")
      : notIn("creativity", options.creativity, abilities.creativity)
  ].flat()

const notIn = (
  name: VideoOptionName,
  value: string | number | undefined,
  list: VideoAbilities["durations"]
): ReadonlyArray<VideoProblem> => {
  if (value === undefined || list === null || mayBe(list, value)) return []
  const known = list.length === 0 ? "This model has none." : `This model has: ${list.join(", ")}.`
  return [{ path: [name], message: `${name} ${value} is not supported. ${known}` }]
}

const notAdvertised = (name: VideoOptionName): VideoProblem => ({
  path: [name],
  message: `This model does not offer ${name}.`
})

const upscaling = (factor: number | undefined, range: VideoAbilities["upscaleFactor"]): ReadonlyArray<VideoProblem> => {
  if (factor === undefined) return []
  if (range === null) return [notAdvertised("upscale_factor")]
  const { max, min } = range
  if ((min === null || factor >= min) && (max === null || factor <= max)) return []
  const bounds = [min === null ? "" : ` from ${min}`, max === null ? "" : ` to ${max}`].join("")
  return [{ path: ["upscale_factor"], message: `upscale_factor ${factor} is not supported. This model has${bounds}.` }]
}

/** Options that a call cannot set, because the configuration sets them or an option that excludes them. */
export const fixedBy = (config: VideoOptions): ReadonlySet<VideoOptionName> => {
  const fixed = new Set(Object.keys(config).filter(isOption))
  if (fixed.has("size")) fixed.add("resolution").add("aspect_ratio")
  if (fixed.has("resolution") || fixed.has("aspect_ratio")) fixed.add("size")
  return fixed
}

/** US dollars, if the catalogue lists the price. Only for the question whether there is enough credit, not for a bill. */
export const expectedPrice = (
  { duration, resolution }: VideoOptions,
  { prices }: Pick<VideoAbilities, "prices">
): number | null => {
  if (duration === undefined) return null
  const perSecond =
    (resolution === undefined ? undefined : prices.get(`per-video-second-${resolution}`)) ??
    prices.get("per-video-second")
  return perSecond === undefined ? null : perSecond * duration
}

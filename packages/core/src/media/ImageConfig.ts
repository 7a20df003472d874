/**
 * Pure: which options an image model supports, by the descriptors of its catalogue entry (`supported_parameters`). A message's
 * `image_config` is checked against them before anything is stored. The tool offers the model the options that the message leaves open, and
 * checks its call again. If a model has no descriptors, the message's options are passed on unchecked, and the tool offers none.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { ImageOptions } from "../models/ImageModel.ts"
import type { ModelInfo } from "../models/ModelInfo.ts"
import type { ToolDefinition } from "../tools/ToolDefinition.ts"

const Descriptor = Schema.Union([
  Schema.Struct({ type: Schema.Literal("enum"), values: Schema.Array(Schema.Union([Schema.String, Schema.Finite])) }),
  Schema.Struct({ type: Schema.Literal("range"), min: Schema.Finite, max: Schema.Finite }),
  Schema.Struct({ type: Schema.String })
])
type Descriptor = typeof Descriptor.Type

type OptionName = keyof ImageOptions
const optionNames = Object.keys(ImageOptions.fields).filter((name): name is OptionName => name in ImageOptions.fields)

/** What a model supports, as it is stored with the plan of a turn. */
export const ImageAbilities = Schema.Struct({
  /** Null: not known. */
  options: Schema.NullOr(Schema.Record(Schema.String, Descriptor)),
  /** The maximum of input pictures; null: not known. */
  inputs: Schema.NullOr(Schema.Int)
})
export type ImageAbilities = typeof ImageAbilities.Type

export interface ImageProblem {
  readonly path: ReadonlyArray<string>
  readonly message: string
}

/** The maximum of input pictures, whatever the model supports. */
const maxInputs = 16

export const imageAbilities = ({ details, supportsVision }: ModelInfo): ImageAbilities => {
  const described = details?.["supported_parameters"]
  const parameters = isObject(described) ? described : null
  const options =
    parameters === null
      ? null
      : Object.fromEntries(
          optionNames.flatMap((name) =>
            Option.match(decodeDescriptor(parameters[name]), { onNone: () => [], onSome: (found) => [[name, found]] })
          )
        )
  const references = Option.getOrNull(decodeDescriptor(parameters?.["input_references"]))
  const most = references !== null && "max" in references ? Math.floor(references.max) : null
  if (supportsVision === false) return { options, inputs: 0 }
  return { options, inputs: supportsVision === null && most === null ? null : Math.min(most ?? maxInputs, maxInputs) }
}

const isObject = Schema.is(Schema.JsonObject)
const decodeDescriptor = Schema.decodeUnknownOption(Descriptor)

/** The options, or all their problems. */
export const checkImageOptions = (
  given: Schema.JsonObject,
  { options }: Pick<ImageAbilities, "options">
): Result.Result<ImageOptions, ReadonlyArray<ImageProblem>> => {
  const problems = Object.entries(given).flatMap(([name, value]) => {
    const message = optionProblem(name, value, options)
    return message === null ? [] : [{ path: [name], message }]
  })
  if (problems.length > 0) return Result.fail(problems)
  return Result.succeed(Option.getOrElse(decodeOptions(given), () => ({})))
}

const decodeOptions = Schema.decodeUnknownOption(ImageOptions)

const optionProblem = (name: string, value: Schema.Json, options: ImageAbilities["options"]): string | null => {
  if (!isOptionName(name)) return `There is no such option. Known: ${optionNames.join(", ")}.`
  if (Option.isNone(decodeOptions({ [name]: value }))) return `The value must be ${expected[name]}.`
  if (options === null) return null
  const descriptor = options[name]
  if (descriptor === undefined) return `The model does not take this option. It takes: ${joinedNames(options)}.`
  return fits(value, descriptor) ? null : `The model takes ${descriptorText(descriptor)}.`
}

const isOptionName = (name: string): name is OptionName => Object.hasOwn(ImageOptions.fields, name)

const joinedNames = (options: NonNullable<ImageAbilities["options"]>): string =>
  Object.keys(options).join(", ") || "none"

const expected: Readonly<Record<OptionName, string>> = {
  n: "a whole number from 1 to 10",
  size: "a text such as 1024x1024",
  resolution: "a text such as 2K",
  aspect_ratio: "a text such as 16:9",
  quality: "a text such as high",
  background: "a text such as transparent",
  output_format: "png, jpeg or webp",
  output_compression: "a whole number from 0 to 100",
  seed: "a whole number"
}

const fits = (value: Schema.Json, descriptor: Descriptor): boolean => {
  if ("values" in descriptor) {
    const word = typeof value === "number" || typeof value === "string" ? `${value}` : null
    return descriptor.values.some((each) => `${each}` === word)
  }
  return !("max" in descriptor) || (typeof value === "number" && value >= descriptor.min && value <= descriptor.max)
}

const descriptorText = (descriptor: Descriptor): string => {
  if ("values" in descriptor) return `one of: ${descriptor.values.join(", ")}`
  return "max" in descriptor ? `${descriptor.min} to ${descriptor.max}` : descriptor.type
}

// The tool.

const imageToolName = "generate_image"

/** Options that the message has fixed are not offered. */
export const imageTool = (abilities: ImageAbilities, fixed: ImageOptions): ToolDefinition => ({
  name: imageToolName,
  description:
    "Makes a picture from a description and shows it to the user. Use it when the user wants a picture. " +
    "Do not write a link to it or an image tag: the user sees the picture already.",
  parameters: {
    type: "object",
    properties: Object.fromEntries([
      [
        "prompt",
        { type: "string", description: "What the picture shows, in full: the image model sees nothing else." }
      ],
      ...(abilities.inputs === 0 ? [] : [["input_document_ids", inputParameter(abilities)]]),
      ...Object.entries(abilities.options ?? {}).flatMap(([name, descriptor]) =>
        name in fixed || !isOptionName(name) ? [] : [[name, toolParameter(name, descriptor)]]
      )
    ]),
    required: ["prompt"]
  }
})

const inputParameter = ({ inputs }: ImageAbilities): Schema.JsonObject => ({
  type: "array",
  items: { type: "string" },
  maxItems: inputs ?? maxInputs,
  description: "Document ids of pictures of this conversation to change or to begin with."
})

const numbers: ReadonlySet<OptionName> = new Set(["n", "output_compression", "seed"])

const toolParameter = (name: OptionName, descriptor: Descriptor): Schema.JsonObject => {
  const type = numbers.has(name) ? "integer" : "string"
  if ("values" in descriptor) {
    return { type, enum: descriptor.values.map((value) => (type === "integer" ? Number(value) : String(value))) }
  }
  return "max" in descriptor ? { type, minimum: descriptor.min, maximum: descriptor.max } : { type }
}

export interface ImageOrder {
  readonly prompt: string
  readonly inputs: ReadonlyArray<string>
  readonly options: ImageOptions
  /** Arguments without an effect because the message has fixed them; the model is told so. */
  readonly dropped: ReadonlyArray<string>
}

/** A call of the tool as an order, or a text for the model. */
export const readImageCall = (
  { input_document_ids: ids, prompt, ...rest }: Schema.JsonObject,
  abilities: ImageAbilities,
  fixed: ImageOptions
): Result.Result<ImageOrder, string> => {
  if (typeof prompt !== "string" || prompt.trim() === "") {
    return Result.fail("Give a prompt: a text that says what the picture shows.")
  }
  const inputs = ids === undefined || ids === null ? [] : Array.isArray(ids) ? ids : [ids]
  if (!inputs.every(isText)) return Result.fail("Give input_document_ids as a list of document ids.")
  const most = abilities.inputs ?? maxInputs
  if (inputs.length > most) {
    return Result.fail(most === 0 ? "This image model takes no pictures as input." : `Give ${most} pictures at most.`)
  }
  const dropped = Object.keys(rest).filter((name) => name in fixed)
  const asked = Object.fromEntries(Object.entries(rest).filter(([name, value]) => !(name in fixed) && value !== null))
  return Result.match(checkImageOptions(asked, abilities), {
    onFailure: (problems) =>
      Result.fail(problems.map(({ message, path }) => `${path.join(".")}: ${message}`).join(" ")),
    onSuccess: (options) => Result.succeed({ prompt, inputs, options: { ...options, ...fixed }, dropped })
  })
}

const isText = (value: Schema.Json): value is string => typeof value === "string" && value !== ""

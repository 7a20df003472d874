/**
 * Images and video: tools that the model may use in this turn, with the settings of the message. Media that were made have an address that
 * is signed when the answer is read.
 */
import { type GeneratedMedia, mediaGenerated, mediaIn, readMedium } from "@colloquy/core/wings"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { UrlOf } from "../links/Links.ts"
import { compact, given } from "../wire/Fields.ts"
import type { ValidationError } from "../wire/Errors.ts"
import { VideoConfig } from "../wire/MessageBody.ts"
import { toProblems } from "../bodies/Problems.ts"
import { isBlank, isGiven, isOneOf, problem, type Path } from "../bodies/RawFields.ts"
import type { Kept, MessageWords, PartTold, Wing } from "./Wing.ts"

const generation = (kind: "image" | "video", title: string, options: MessageWords["options"]): MessageWords => {
  const field = `${kind}_generation`
  return {
    concerns: [field],
    asked: (fields) => (isOneOf(fields[field], "auto") ? [{ path: [field], title }] : []),
    details: { of: field, fields: [`${kind}_model_provider`, `${kind}_model_name`, `${kind}_config`] },
    needsModel: true,
    problems: (fields) =>
      isOneOf(fields[field], "auto")
        ? [`${kind}_model_provider`, `${kind}_model_name`]
            .filter((name) => isBlank(fields[name]))
            .map((name) => problem([name], "missing", `Field required when ${field} is auto`))
        : [],
    options,
    bodyPath: ([first, ...rest]) => bodyPaths[first ?? ""]?.(kind, rest) ?? [field]
  }
}

const mediumToWire = ({ documentId, mediaType, mimeType, size }: GeneratedMedia, urlOf: UrlOf) => ({
  document_id: documentId,
  url: urlOf(documentId),
  media_type: mediaType,
  mime_type: mimeType,
  file_size_bytes: size
})

const generated: Pick<Wing, "fields" | "event"> = {
  fields: ({ answer }: Kept, urlOf) => {
    const media = mediaIn(answer)
    return media.length === 0 ? {} : { generated_media: media.map((each) => mediumToWire(each, urlOf)) }
  },
  event: ({ data, type }: PartTold, urlOf) => {
    const medium = type === mediaGenerated ? Option.getOrNull(readMedium(data)) : null
    return medium === null ? { type, data } : { type, media: mediumToWire(medium, urlOf) }
  }
}

/** The path of a part's options in the message. */
const bodyPaths: Readonly<Record<string, (kind: string, rest: Path) => Path>> = {
  provider: (kind) => [`${kind}_model_provider`],
  model: (kind) => [`${kind}_model_name`],
  config: (kind, rest) => [`${kind}_config`, ...rest]
}

export const imageWing: Wing = {
  part: "image",
  ...generated,
  message: generation("image", "Image generation", (fields) =>
    compact({
      provider: given(fields.image_model_provider),
      model: given(fields.image_model_name),
      config: given(fields.image_config)
    })
  )
}

const videoWords = generation("video", "Video generation", (fields) =>
  "video_generation" in fields
    ? compact({
        provider: given(fields.video_model_provider),
        model: given(fields.video_model_name),
        config: given(fields.video_config)
      })
    : null
)

export const videoWing: Wing = {
  part: "video",
  ...generated,
  message: {
    ...videoWords,
    concerns: [...videoWords.concerns, "video_config"],
    problems: (fields, raw, installed) => {
      const found = videoWords.problems?.(fields, raw, installed) ?? []
      // The part checks the options together with the model.
      const isChecked = isOneOf(fields["video_generation"], "auto") && found.length === 0
      return isChecked ? found : [...found, ...aboutConfig(fields["video_config"])]
    }
  }
}

const readConfig = Schema.decodeUnknownResult(VideoConfig, { errors: "all", onExcessProperty: "error" })

const aboutConfig = (config: unknown): ReadonlyArray<ValidationError> => {
  const read = isGiven(config) ? readConfig(config) : Result.succeed({})
  return Result.isFailure(read) ? toProblems(read.failure.issue, ["body", "video_config"]) : []
}

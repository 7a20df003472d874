/** Images and video: tools that the model may use in this turn, with the settings of the message. */
import { compact, given } from "../wire/Fields.ts"
import { isBlank, isOneOf, problem } from "./Fields.ts"
import type { MessageWords, Path, Wing } from "./Wing.ts"

const generation = (kind: "image" | "video", title: string, options: MessageWords["options"]): MessageWords => {
  const field = `${kind}_generation`
  return {
    asked: (fields) => (isOneOf(fields[field], "auto") ? [{ path: [field], title }] : []),
    problems: (fields) =>
      isOneOf(fields[field], "auto")
        ? [`${kind}_model_provider`, `${kind}_model_name`]
            .filter((name) => isBlank(fields[name]))
            .map((name) => problem([name], "missing", `Field required when ${field} is auto`))
        : [],
    options,
    place: ([first, ...rest]) => places[first ?? ""]?.(kind, rest) ?? [field]
  }
}

/** Where the options of a part stand in the message. */
const places: Readonly<Record<string, (kind: string, rest: Path) => Path>> = {
  provider: (kind) => [`${kind}_model_provider`],
  model: (kind) => [`${kind}_model_name`],
  config: (kind, rest) => [`${kind}_config`, ...rest]
}

export const imageWing: Wing = {
  part: "image",
  message: generation("image", "Image generation", (fields) =>
    compact({
      provider: given(fields.image_model_provider),
      model: given(fields.image_model_name),
      config: given(fields.image_config)
    })
  )
}

export const videoWing: Wing = {
  part: "video",
  message: generation("video", "Video generation", (fields) =>
    "video_generation" in fields
      ? compact({
          provider: given(fields.video_model_provider),
          model: given(fields.video_model_name),
          config: given(fields.video_config)
        })
      : null
  )
}

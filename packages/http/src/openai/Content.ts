/** Decodes content of messages, as both of OpenAI's interfaces write it, and finds the media for a transcript in it. Pure. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { maybe } from "../wire/Fields.ts"
import { invalid, type OpenAiError } from "./Errors.ts"
import type { Media } from "./Request.ts"
import type { MediaPart, UserItem } from "./Transcript.ts"

const ChatText = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })
const ImageUrl = Schema.Struct({
  type: Schema.Literal("image_url"),
  image_url: Schema.Struct({ url: Schema.String, detail: maybe(Schema.String) })
})
const InputAudio = Schema.Struct({
  type: Schema.Literal("input_audio"),
  input_audio: Schema.Struct({ data: Schema.String, format: Schema.Literals(["wav", "mp3"]) })
})
const ChatFile = Schema.Struct({ type: Schema.Literal("file"), file: Schema.Unknown })

export const ChatUserPart = Schema.Union([ChatText, ImageUrl, InputAudio, ChatFile])
export const ChatTextPart = ChatText
export const ChatAnswerPart = Schema.Union([
  ChatText,
  Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })
])

const InputText = Schema.Struct({ type: Schema.Literal("input_text"), text: Schema.String })
const InputImage = Schema.Struct({
  type: Schema.Literal("input_image"),
  image_url: maybe(Schema.String),
  file_id: maybe(Schema.String),
  detail: maybe(Schema.String)
})
const InputFile = Schema.Struct({ type: Schema.Literal("input_file") })
const OutputText = Schema.Struct({ type: Schema.Literal("output_text"), text: Schema.String })
const Refusal = Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })

/** An answer that comes back as input has the parts of an answer. */
export const ResponsePart = Schema.Union([InputText, InputImage, InputAudio, InputFile, OutputText, Refusal])

type Part = typeof ChatUserPart.Type | typeof ResponsePart.Type
type Content = string | ReadonlyArray<Part>

const dataUrl = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.-]+)*;base64,([\s\S]*)$/u

/** Base64 without spaces and padding, as the platform decodes it; null: the text is not base64. */
const plainBase64 = (text: string): string | null => {
  const plain = text.replaceAll(/\s/gu, "").replace(/={1,2}$/u, "")
  return plain !== "" && plain.length % 4 !== 1 && /^[A-Za-z0-9+/]+$/u.test(plain) ? plain : null
}

const notPicture = (param: string) =>
  Result.fail(invalid("A picture is an https address or a data URL with base64.", param, "invalid_image_url"))

const pictureFrom = (url: string, param: string, media: Media): Result.Result<MediaPart, OpenAiError> => {
  const lifted = media.get(url)
  if (lifted !== undefined)
    return lifted.pieces !== null && lifted.mediaType.startsWith("image/")
      ? Result.succeed({ type: "image", mediaType: lifted.mediaType, held: url })
      : notPicture(param)
  if (/^https?:\/\//iu.test(url)) return Result.succeed({ type: "image", mediaType: "image/*", url })
  const [, mediaType = "", data = ""] = dataUrl.exec(url) ?? []
  const base64 = plainBase64(data)
  if (!mediaType.startsWith("image/") || base64 === null) return notPicture(param)
  return Result.succeed({ type: "image", mediaType, base64 })
}

const noFiles = (param: string) =>
  Result.fail(
    invalid(
      "Files are not taken here. Upload the file as a document of an assistant, and name the assistant as the model.",
      param,
      "unsupported_content"
    )
  )

const partFrom = (part: Part, param: string, media: Media): Result.Result<UserItem["content"][number], OpenAiError> => {
  switch (part.type) {
    case "text":
    case "input_text":
    case "output_text":
      return Result.succeed({ type: "text", text: part.text })
    case "refusal":
      return Result.succeed({ type: "text", text: part.refusal })
    case "image_url":
      return pictureFrom(part.image_url.url, `${param}.image_url`, media)
    case "input_image":
      return typeof part.image_url === "string"
        ? pictureFrom(part.image_url, `${param}.image_url`, media)
        : noFiles(param)
    case "input_audio": {
      const { data, format } = part.input_audio
      const mediaType = format === "mp3" ? "audio/mpeg" : "audio/wav"
      const lifted = media.get(data)
      if (lifted !== undefined && lifted.pieces !== null)
        return Result.succeed({ type: "audio", mediaType, held: data })
      const base64 = lifted === undefined ? plainBase64(data) : null
      if (base64 === null) return Result.fail(invalid("The sound is not base64.", param))
      return Result.succeed({ type: "audio", mediaType, base64 })
    }
    case "file":
    case "input_file":
      return noFiles(param)
  }
}

export const userItemFrom = (content: Content, param: string, media: Media): Result.Result<UserItem, OpenAiError> => {
  if (typeof content === "string") return Result.succeed({ role: "user", content: [{ type: "text", text: content }] })
  const parts: Array<UserItem["content"][number]> = []
  for (const [index, part] of content.entries()) {
    const read = partFrom(part, `${param}[${index}]`, media)
    if (Result.isFailure(read)) return Result.fail(read.failure)
    parts.push(read.success)
  }
  return Result.succeed({ role: "user", content: parts })
}

/** Content that may only be text: of the developer, of an answer, of a tool. */
export const onlyText = (content: Content | null | undefined): string =>
  typeof content === "string"
    ? content
    : (content ?? [])
        .flatMap((part) => ("text" in part ? [part.text] : "refusal" in part ? [part.refusal] : []))
        .join("")

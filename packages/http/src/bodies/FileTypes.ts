/** Which files a message may carry, by their extension. Specification part 2, "Supported upload types". */
import * as Effect from "effect/Effect"
import { UnsupportedMediaType } from "../wire/Errors.ts"
import type { UploadedFile } from "./Multipart.ts"

const documents = "pdf doc docx ppt pptx xls xlsx txt csv md markdown json jsonl xml"
const code = "py js ts jsx tsx html css cpp c h java go rs rb php sql"
const images = "png jpg jpeg webp gif bmp tiff tif"
const sound = "mp3 wav m4a ogg flac aac"
const video = "mp4 mov avi mkv mpeg mpg webm"

const attachments = new Set([documents, code, images, sound, video].join(" ").split(" "))

const extensionOf = (name: string): string => /\.([^./\\]+)$/u.exec(name)?.[1]?.toLowerCase() ?? ""

/** Fails for the first file of a type that no message can carry. */
export const refuseUnknownTypes = (files: ReadonlyArray<UploadedFile>): Effect.Effect<void, UnsupportedMediaType> => {
  const unknown = files.find((file) => file.field === "files" && !attachments.has(extensionOf(file.name)))
  return unknown === undefined
    ? Effect.void
    : Effect.fail(new UnsupportedMediaType({ detail: `Files like "${unknown.name.slice(-100)}" are not supported` }))
}

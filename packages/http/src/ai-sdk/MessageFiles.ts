/**
 * The files of a chat's message as the API takes them. A file that the user picked in the browser comes as a data URL and is sent as bytes; a
 * file that the server has already (the message is sent again) is sent as its id. Pure.
 */
import type { UIMessage } from "ai"
import type { FileInput } from "../client/FormBody.ts"

export interface SentFiles {
  readonly files: ReadonlyArray<FileInput>
  /** Ids of documents. */
  readonly attachments: ReadonlyArray<string>
}

/** The address at which the service gives out the bytes of a document. */
const stored = /\/documents\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/content(?:[?#]|$)/iu

export const filesToSend = ({ parts }: Pick<UIMessage, "parts">): SentFiles => {
  const files: Array<FileInput> = []
  const attachments: Array<string> = []
  for (const part of parts) {
    if (part.type !== "file") continue
    const { filename, mediaType, url } = part
    const [, id] = stored.exec(url) ?? []
    if (id !== undefined && !url.startsWith("data:")) attachments.push(id)
    else
      files.push(new File([dataUrlBytes(url)], filename ?? generatedName(mediaType, files.length), { type: mediaType }))
  }
  return { files, attachments }
}

const dataUrlBytes = (url: string): Uint8Array<ArrayBuffer> => {
  const comma = url.indexOf(",")
  const head = url.slice(0, Math.max(0, comma))
  if (!head.startsWith("data:")) throw unusable()
  try {
    const data = decodeURIComponent(url.slice(comma + 1))
    if (!/;\s*base64\s*$/iu.test(head)) return new TextEncoder().encode(data)
    return Uint8Array.from(globalThis.atob(data), (character) => character.charCodeAt(0))
  } catch {
    throw unusable()
  }
}

const unusable = () =>
  new Error("A file of a message is sent with its bytes: give it as a data URL, as sendMessage({ files }) does.")

/** The extensions for names of files without one. The server recognises a file by its name and its first bytes. */
const extensions: Readonly<Record<string, string>> = {
  "text/plain": "txt",
  "text/markdown": "md",
  "image/jpeg": "jpg",
  "image/tiff": "tif",
  "audio/mpeg": "mp3",
  "audio/mp4": "m4a",
  "audio/x-wav": "wav",
  "audio/wave": "wav",
  "video/quicktime": "mov",
  "video/x-matroska": "mkv"
}

const generatedName = (mediaType: string, index: number): string => {
  const plain = mediaType.split(";", 1)[0]?.trim().toLowerCase() ?? ""
  return `file-${index + 1}.${extensions[plain] ?? plain.split("/")[1] ?? "bin"}`
}

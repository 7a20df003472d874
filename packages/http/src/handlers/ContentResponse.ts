/**
 * Pure: decides whether the bytes of a document are sent whole, in part or not at all, and with which headers. Files come from users, so the
 * browser may show only types that it does not run. All other types are downloads, under a policy that forbids everything.
 */
import type { ByteRange, Document } from "@colloquy/core/wings"

export interface ContentRequest {
  readonly range?: string
  readonly ifRange?: string
  readonly ifNoneMatch?: string
}

export type ContentResponse =
  | { readonly _tag: "NotModified"; readonly headers: Readonly<Record<string, string>> }
  | { readonly _tag: "NotSatisfiable"; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly _tag: "Bytes"
      readonly status: 200 | 206
      readonly headers: Readonly<Record<string, string>>
      readonly contentType: string
      readonly contentLength: number
      /** Null: all of them. */
      readonly range: ByteRange | null
    }

export const contentResponse = (document: Document, request: ContentRequest): ContentResponse => {
  const { size } = document
  const etag = `"${document.sha256}"`
  const validators = { etag }
  if (isKnown(request.ifNoneMatch, etag)) return { _tag: "NotModified", headers: validators }
  const range = request.ifRange === undefined || request.ifRange.trim() === etag ? readRange(request.range, size) : null
  if (range === "not_satisfiable") {
    return { _tag: "NotSatisfiable", headers: { "content-range": `bytes */${size}` } }
  }
  const headers = {
    ...validators,
    ...protection,
    "accept-ranges": "bytes",
    "content-disposition": contentDisposition(document)
  }
  const contentType = safeContentType(document)
  if (range === null) {
    return { _tag: "Bytes", status: 200, headers, contentType, contentLength: size, range }
  }
  const last = range.offset + range.length - 1
  return {
    _tag: "Bytes",
    status: 206,
    headers: { ...headers, "content-range": `bytes ${range.offset}-${last}/${size}` },
    contentType,
    contentLength: range.length,
    range
  }
}

const protection = {
  "content-security-policy": "default-src 'none'; sandbox",
  "cross-origin-resource-policy": "cross-origin"
}

/** Weak and strong forms of a tag mean the same bytes here. */
const isKnown = (given: string | undefined, etag: string): boolean =>
  given !== undefined &&
  given.split(",").some((each) => {
    const tag = each.trim()
    return tag === "*" || tag.replace(/^W\//u, "") === etag
  })

/** More characters than one range has, with spaces where clients put them. */
const longestRange = 100

/** Null: no range, more than one, or one that is not understood; all bytes are the answer then. */
const readRange = (header: string | undefined, size: number): ByteRange | "not_satisfiable" | null => {
  if (header === undefined || header.length > longestRange) return null
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/iu.exec(header.replaceAll(/[ \t]/gu, "")) ?? []
  if (first === undefined || last === undefined || (first === "" && last === "")) return null
  if (first === "") {
    const length = Math.min(Number(last), size)
    return length === 0 ? "not_satisfiable" : { offset: size - length, length }
  }
  const offset = Number(first)
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== "" && Number(last) < offset) return null
  return offset >= size ? "not_satisfiable" : { offset, length: end - offset + 1 }
}

/** What a browser shows and does not run. */
const shown =
  /^(?:image\/(?:png|jpeg|gif|webp|bmp)|(?:audio|video)\/[\w.+-]+|application\/pdf|text\/(?:plain|csv|markdown))$/u

/** Browsers take these for scripts, wherever a page of this server names their address. */
const scripts = /^(?:text|application)\/(?:x-)?(?:java|ecma)script$/u

const safeContentType = ({ mimeType }: Document): string => {
  const type = scripts.test(mimeType) ? "text/plain" : mimeType
  return type.startsWith("text/") ? `${type}; charset=utf-8` : type
}

/** The name twice: for old clients in ASCII, and whole. Nothing in it is a path for the program that saves the file. */
const contentDisposition = ({ filename, mimeType }: Document): string => {
  const name = filename.toWellFormed().replaceAll(/[\p{Cc}\p{Zl}\p{Zp}/\\]/gu, "_")
  const plain = name.replaceAll(/[^\x20-\x7e]/gu, "_").replaceAll(/["%]/gu, "_")
  const whole = encodeURIComponent(name).replaceAll(
    /['()*]/gu,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`
  )
  return `${shown.test(mimeType) ? "inline" : "attachment"}; filename="${plain}"; filename*=UTF-8''${whole}`
}

/** Reads the needed fields of S3's answers. They are flat and generated, so regular expressions are enough. Pure functions. */
import * as Option from "effect/Option"

export interface S3Listing {
  readonly objects: ReadonlyArray<{ readonly key: string; readonly at: Date }>
  /** The token of the next page. */
  readonly next: Option.Option<string>
}

export interface S3Uploads {
  readonly uploads: ReadonlyArray<{ readonly key: string; readonly uploadId: string; readonly at: Date }>
  /** The last upload of this page, after which the next page begins. */
  readonly next: Option.Option<{ readonly key: string; readonly uploadId: string }>
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" }

const decode = (text: string): string =>
  text.replaceAll(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/giu, (whole, hex?: string, decimal?: string, name?: string) => {
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16))
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal))
    return entities[name ?? ""] ?? whole
  })

const elementText = (xml: string, name: string): string | undefined => {
  const [found] = elements(xml, name)
  return found === undefined ? undefined : decode(found)
}

const elements = (xml: string, name: string): ReadonlyArray<string> =>
  xml
    .split(`<${name}>`)
    .slice(1)
    .flatMap((each) => (each.includes(`</${name}>`) ? each.split(`</${name}>`, 1) : []))

export const readListing = (xml: string): S3Listing => ({
  objects: elements(xml, "Contents").map((each) => ({
    key: elementText(each, "Key") ?? "",
    at: new Date(elementText(each, "LastModified") ?? "")
  })),
  next: Option.fromNullishOr(
    elementText(xml, "IsTruncated") === "true" ? elementText(xml, "NextContinuationToken") : undefined
  )
})

export const readUploads = (xml: string): S3Uploads => {
  const key = elementText(xml, "IsTruncated") === "true" ? elementText(xml, "NextKeyMarker") : undefined
  return {
    uploads: elements(xml, "Upload").map((each) => ({
      key: elementText(each, "Key") ?? "",
      uploadId: elementText(each, "UploadId") ?? "",
      at: new Date(elementText(each, "Initiated") ?? "")
    })),
    next: key ? Option.some({ key, uploadId: elementText(xml, "NextUploadIdMarker") ?? "" }) : Option.none()
  }
}

export const readUploadId = (xml: string): string => {
  const id = elementText(xml, "UploadId")
  if (id === undefined) throw new Error("The service began a multipart upload without naming it.")
  return id
}

/** The code of an error, for example `NoSuchBucket`. The message is not used, because it contains names. */
export const readErrorCode = (xml: string): string => elementText(xml, "Code") ?? "no code"

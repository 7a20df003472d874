/**
 * Reads the documents that a call of `generate_video` names, in the form that a provider can use. Pictures are part of the order. Sound and
 * video are fetched by the provider from a signed HTTPS address that expires soon, and only if the model is known to accept them.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Principal } from "../access/Principal.ts"
import type { BlobNotFound } from "../documents/BlobStore.ts"
import type { Document, DocumentNotFound } from "../documents/Document.ts"
import { DocumentLinks } from "../documents/DocumentLinks.ts"
import { fileTypeForExtension } from "../documents/FileType.ts"
import type { Picture, VideoOrder, VideoReference } from "../models/VideoModel.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import { HostedToolFailed, type HostedCall } from "../tools/HostedTool.ts"
import { MediaStorage } from "./MediaStorage.ts"
import type { VideoAbilities } from "./VideoAbilities.ts"
import { VideoSettings } from "./VideoSettings.ts"
import type { VideoInputs } from "./VideoTool.ts"

type TurnIds = Pick<HostedCall, "threadId" | "assistantId">
type Found = Pick<VideoOrder, "firstFrame" | "lastFrame" | "references">

const refuse = (message: string) => Effect.fail(new HostedToolFailed({ message: `No video was ordered. ${message}` }))

export const makeVideoInputs = Effect.gen(function* () {
  const storage = yield* MediaStorage
  const links = yield* DocumentLinks
  const { maxInlineImage, referenceLifetime } = yield* VideoSettings

  /** An unknown document, another owner's and another conversation's get the same answer. */
  const find = (id: string, ids: TurnIds) =>
    Effect.catch(storage.find(id, ids), (error: DocumentNotFound | StoreUnavailable) =>
      refuse(
        error._tag === "DocumentNotFound"
          ? `There is no document ${id} in this conversation or its assistant.`
          : "The documents cannot be reached at the moment."
      )
    )

  const readPicture = Effect.fnUntraced(function* (
    document: Document
  ): Effect.fn.Return<Picture, HostedToolFailed, Principal> {
    const { id, mimeType, size } = document
    if (size > maxInlineImage) {
      return yield* refuse(`The picture ${id} has more than ${maxInlineImage} bytes. Use a smaller one.`)
    }
    const bytes = yield* Effect.catch(
      Stream.mkUint8Array(storage.bytes(document)),
      (_: BlobNotFound | StoreUnavailable) => refuse(`The picture ${id} cannot be read at the moment.`)
    )
    return { bytes, mimeType }
  })

  const documentAddress = Effect.fnUntraced(function* ({ id }: Document) {
    const url = yield* Effect.orElseSucceed(links.signed(id, { expiresIn: referenceLifetime }), () => "")
    if (isPublicHttps(url)) return url
    return yield* refuse(
      `This server has no public HTTPS address, so the provider cannot fetch document ${id}. ` +
        "Sound and video can be references only on a server that has one. Tell the user."
    )
  })

  const readFrame = Effect.fnUntraced(function* (id: string, ids: TurnIds) {
    const document = yield* find(id, ids)
    if (referenceKind(document) !== "image")
      return yield* refuse(`Document ${id} is no picture, so it cannot be a frame.`)
    return yield* readPicture(document)
  })

  const readReference = Effect.fnUntraced(function* (
    id: string,
    abilities: VideoAbilities,
    ids: TurnIds
  ): Effect.fn.Return<VideoReference, HostedToolFailed, Principal> {
    const document = yield* find(id, ids)
    const kind = referenceKind(document)
    if (kind === null) return yield* refuse(`Document ${id} is no picture, sound or video.`)
    if (!takes(kind, abilities)) return yield* refuse(`This model takes no ${kind} as a reference (document ${id}).`)
    if (kind === "image") return { kind, picture: yield* readPicture(document) }
    return { kind, url: yield* documentAddress(document) }
  })

  return Effect.fnUntraced(function* (
    inputs: VideoInputs,
    abilities: VideoAbilities,
    ids: TurnIds
  ): Effect.fn.Return<Found, HostedToolFailed, Principal> {
    const named = inputs.video === null ? inputs.references : [inputs.video]
    const frame = (id: string | null) => (id === null ? Effect.succeed(null) : readFrame(id, ids))
    const found: Found = {
      firstFrame: yield* frame(inputs.firstFrame),
      lastFrame: yield* frame(inputs.lastFrame),
      references: yield* Effect.forEach(named, (id) => readReference(id, abilities, ids))
    }
    const [first] = found.references
    if (inputs.video !== null && first?.kind !== "video") return yield* refuse(`Document ${inputs.video} is no video.`)
    return found
  })
})

const referenceKind = ({ extension }: Document): VideoReference["kind"] | null => {
  const family = fileTypeForExtension(extension)?.family
  return family === "image" || family === "audio" || family === "video" ? family : null
}

/** If the support is unknown, only pictures are tried. */
const takes = (kind: VideoReference["kind"], { audioInput, imageInput, videoInput }: VideoAbilities): boolean => {
  switch (kind) {
    case "image":
      return imageInput !== false
    case "audio":
      return audioInput === true
    case "video":
      return videoInput === true
  }
}

/** Refuses addresses that nobody outside can reach: the provider's fetch would fail after the order was paid for. */
const isPublicHttps = (url: string): boolean => {
  if (!URL.canParse(url)) return false
  const { hostname, protocol } = new URL(url)
  const name = hostname.replace(/\.$/u, "")
  return protocol === "https:" && name.includes(".") && !isLocal.test(name)
}

/** Names and IPv4 numbers of private networks. Numbers of IPv6 have no dot, and are not used as addresses of services here. */
const isLocal =
  /(?:^|\.)(?:localhost|local|internal|test|invalid)$|^(?:0|10|127|169\.254|172\.(?:1[6-9]|2\d|3[01])|192\.168|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))(?:\.\d+)+$/u

/**
 * Pure: the signature under an address of a document's bytes. It names one document and one moment, and can be made only with the secret of
 * this service. Used by `Links`; the content endpoint checks it.
 */
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import * as Base64Url from "effect/encoding/Base64Url"

/** Seconds since 1970. */
export type Expiry = number

const encoder = new TextEncoder()

/** The first line keeps signatures of this kind from standing for anything else that is ever signed with the same secret. */
const signed = (documentId: string, expires: Expiry): Uint8Array =>
  encoder.encode(`colloquy document content\n${documentId}\n${expires}`)

export const sign = (secret: Uint8Array, documentId: string, expires: Expiry): string =>
  Base64Url.encode(hmac(sha256, secret, signed(documentId, expires)))

/** Takes as long for a wrong signature as for a right one. */
export const isSignature = (secret: Uint8Array, documentId: string, expires: Expiry, given: string): boolean => {
  const right = sign(secret, documentId, expires)
  let difference = right.length ^ given.length
  for (let index = 0; index < right.length; index++) difference |= right.charCodeAt(index) ^ given.charCodeAt(index)
  return difference === 0
}

/**
 * The end of an address that is good for a whole period at least: the end of a period, so that all addresses which are written within one
 * are equal.
 */
export const expiryWithin = (nowMillis: number, periodSeconds: number): Expiry =>
  Math.ceil(nowMillis / 1000 / periodSeconds + 1) * periodSeconds

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

/** The first line names the purpose, so that such a signature is never valid for other data that is signed with the same secret. */
const signed = (documentId: string, expires: Expiry, issued: number): Uint8Array =>
  encoder.encode(`colloquy document content\n${documentId}\n${expires}\n${issued}`)

/** `issued`, in seconds since 1970, stands before the signature: addresses that were written before a revocation are refused. */
export const sign = (secret: Uint8Array, documentId: string, expires: Expiry, issued: number): string =>
  `${issued}.${Base64Url.encode(hmac(sha256, secret, signed(documentId, expires, issued)))}`

/** The time at which the address was written. Only for a signature that was found valid. */
export const issuedIn = (signature: string): number => Number(signature.split(".", 1)[0])

/** Compares in constant time. */
export const isSignature = (secret: Uint8Array, documentId: string, expires: Expiry, given: string): boolean => {
  const issued = issuedIn(given)
  const right = sign(secret, documentId, expires, Number.isSafeInteger(issued) ? issued : 0)
  let difference = right.length ^ given.length
  for (let index = 0; index < right.length; index++) difference |= right.charCodeAt(index) ^ given.charCodeAt(index)
  return difference === 0
}

/** The beginning of the period: equal for all addresses that are written within one. */
export const issuedWithin = (nowMillis: number, periodSeconds: number): number =>
  expiryWithin(nowMillis, periodSeconds) - 2 * periodSeconds

/**
 * The end of an address that is good for a whole period at least: the end of a period, so that all addresses which are written within one
 * are equal.
 */
export const expiryWithin = (nowMillis: number, periodSeconds: number): Expiry =>
  Math.ceil(nowMillis / 1000 / periodSeconds + 1) * periodSeconds

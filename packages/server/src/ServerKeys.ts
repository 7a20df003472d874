/**
 * Who may use the server. Keys that the operator chose are only in the environment: a removed key is no longer valid. Without any, one key
 * is made at the first start; the store keeps its hash, and the operator sees it once.
 */
import { Keys, Principal } from "@colloquy/core"
import type { Authenticate, ClientAddress } from "@colloquy/http"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { createHash } from "node:crypto"
import { IncomingMessage } from "node:http"
import type { Settings } from "./Settings.ts"

/** The owner of the key that is made at the first start. */
export const soleOwner = "default"

/** The new key; null when there was one already, or the operator chose keys. */
export const prepareKeys = Effect.fnUntraced(function* ({ apiKeys }: Settings) {
  const keys = yield* Keys
  const known = yield* keys.list
  if (apiKeys.length > 0 || known.some((key) => key.revokedAt === null)) return null
  return (yield* keys.make("first start")).key
}, Principal.provide(soleOwner))

const keyHash = (key: string): string => createHash("sha256").update(key).digest("hex")

/** The operator's keys, found by hash, so that the time of the look-up reveals nothing. */
export const authenticateBy = (apiKeys: Settings["apiKeys"]): Authenticate | null => {
  if (apiKeys.length === 0) return null
  const owners = new Map(apiKeys.map(({ key, ownerId }) => [keyHash(Redacted.value(key)), ownerId]))
  return ({ headers }) => owners.get(keyHash(headers["x-api-key"] ?? "")) ?? null
}

/**
 * Where to find the client's address, so that wrong keys can be counted. In a header with several addresses the last one is used: the
 * nearest proxy wrote it, and a client may have sent the ones before.
 */
export const clientAddressBy = (from: string): ClientAddress | null => {
  if (from === "none") return null
  if (from === "connection")
    return ({ source }) => (source instanceof IncomingMessage ? source.socket.remoteAddress : null)
  const header = from.toLowerCase()
  return ({ headers }) => headers[header]?.split(",").at(-1)?.trim()
}

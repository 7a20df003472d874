/**
 * Who may use the server. Keys that the operator chose stand in the environment and nowhere else: what is taken out there works no longer.
 * Without any, one key is made at the first start; the store has its hash, and the operator sees it once.
 */
import { Keys, Principal } from "@colloquy/core"
import type { Authenticate, ClientAddress } from "@colloquy/http"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { createHash } from "node:crypto"
import { IncomingMessage } from "node:http"
import type { Settings } from "./Settings.ts"

/** Whose the key is that is made at the first start. */
export const soleOwner = "default"

/** The key that was made now; null when there was one already, or the operator brought his own. */
export const prepareKeys = Effect.fnUntraced(function* ({ apiKeys }: Settings) {
  const keys = yield* Keys
  const known = yield* keys.list
  if (apiKeys.length > 0 || known.some((key) => key.revokedAt === null)) return null
  return (yield* keys.make("first start")).key
}, Principal.provide(soleOwner))

const hashOf = (key: string): string => createHash("sha256").update(key).digest("hex")

/** The operator's keys, looked up by hash, so that the time it takes tells nothing. */
export const authenticateBy = (apiKeys: Settings["apiKeys"]): Authenticate | null => {
  if (apiKeys.length === 0) return null
  const owners = new Map(apiKeys.map(({ key, ownerId }) => [hashOf(Redacted.value(key)), ownerId]))
  return ({ headers }) => owners.get(hashOf(headers["x-api-key"] ?? "")) ?? null
}

/**
 * Where the address of a client is found, so that wrong keys can be counted. Of a header with several addresses the last one counts: the
 * nearest proxy wrote it, and a client may have sent those before it.
 */
export const clientAddressBy = (place: string | null): ClientAddress | null => {
  if (place === null) return null
  if (place === "connection")
    return ({ source }) => (source instanceof IncomingMessage ? source.socket.remoteAddress : null)
  const header = place.toLowerCase()
  return ({ headers }) => headers[header]?.split(",").at(-1)?.trim()
}

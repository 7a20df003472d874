/** `Idempotency-Key`: a repeated request is recognized by the key, and its hash must be that of the first request. */
import { type IdempotencyKey, runYielding, type Steps } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { sha256 } from "./Hash.ts"
import { canonicalJson } from "../wire/Json.ts"

interface Repeatable {
  readonly request: HttpServerRequest
  readonly headers: { readonly "idempotency-key"?: string }
}

/**
 * The field of a kernel request, or nothing without the header. `asked` is the decoded request: the same request in another encoding has
 * the same hash.
 */
export const readIdempotency = (
  { headers, request }: Repeatable,
  asked: () => object
): Effect.Effect<{ readonly idempotency?: IdempotencyKey }> => {
  const key = headers["idempotency-key"]
  if (key === undefined) return Effect.succeed({})
  const path = request.url.split("?", 1)[0] ?? ""
  return Effect.map(sha256(`${request.method} ${path}\n${canonicalJson(asked())}`), (fingerprint) => ({
    idempotency: { key, fingerprint }
  }))
}

/** The hash by which the repeat of a long list is recognized, computed in steps. Empty without the header. */
export const textOfList = ({ headers }: Repeatable, list: ReadonlyArray<unknown>): Effect.Effect<string> =>
  headers["idempotency-key"] === undefined ? Effect.succeed("") : runYielding(writingList(list))

function* writingList(list: ReadonlyArray<unknown>): Steps<string> {
  const texts: Array<string> = []
  for (const each of list) {
    texts.push(canonicalJson(each))
    if (texts.length % 16 === 0) yield
  }
  return texts.join("\n")
}

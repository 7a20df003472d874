/** `Idempotency-Key`: a repeat is recognized by the caller's key, and checked by a hash of what was asked. */
import type { ToolOutputsRequest, TurnRequest } from "@colloquy/core"
import type { IdempotencyKey } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { sha256 } from "./Hash.ts"
import { canonicalJson } from "../wire/Json.ts"

interface Repeatable {
  readonly request: HttpServerRequest
  readonly headers: { readonly "idempotency-key"?: string }
}

/**
 * Nothing, or the field of a kernel request. `asked` is what the kernel would be asked: however a client writes one request, in whatever
 * encoding, it is one request.
 */
export const idempotencyOf = (
  { headers, request }: Repeatable,
  asked: () => (TurnRequest & { readonly files?: ReadonlyArray<object> }) | ToolOutputsRequest
): Effect.Effect<{ readonly idempotency?: IdempotencyKey }> => {
  const key = headers["idempotency-key"]
  if (key === undefined) return Effect.succeed({})
  const path = request.url.split("?", 1)[0] ?? ""
  return Effect.map(sha256(`${request.method} ${path}\n${canonicalJson(asked())}`), (fingerprint) => ({
    idempotency: { key, fingerprint }
  }))
}

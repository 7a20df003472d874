/** The endpoints for an owner as a whole. */
import {
  type Allowance,
  Allowances,
  AssistantId,
  Assistants,
  AuditLog,
  Erasures,
  KeyId,
  Keys,
  Principal
} from "@colloquy/core"
import { ErasureId } from "@colloquy/core/adapters"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Stream from "effect/Stream"
import { Api } from "../Api.ts"
import { Wings } from "../wings/Wings.ts"
import { ownerExport } from "./OwnerExport.ts"
import { writeTimestamp } from "../wire/Fields.ts"
import { toWireError } from "../wire/ErrorStatus.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "owners",
  Effect.fnUntraced(function* (handlers) {
    const { report } = yield* Allowances
    const erasures = yield* Erasures
    const assistants = yield* Assistants
    const audit = yield* AuditLog
    const wings = yield* Wings
    const archive = yield* ownerExport
    const keys = yield* Keys
    return handlers
      .handle(
        "keys",
        Effect.fnUntraced(function* ({ query: { cursor, limit = 20 } }) {
          const { keyId } = yield* Principal
          const all = (yield* Effect.mapError(keys.list, toWireError)).toReversed()
          const rest =
            cursor === undefined ? all : all.slice(all.findIndex(({ id }) => id === cursor) + 1 || all.length)
          const found = rest.slice(0, limit)
          return {
            keys: found.map(({ createdAt, expiresAt, id, name, revokedAt, scope }) => ({
              key_id: id,
              name,
              scope,
              current: id === keyId,
              created_at: writeTimestamp(createdAt),
              expires_at: expiresAt === null ? null : writeTimestamp(expiresAt),
              revoked_at: revokedAt === null ? null : writeTimestamp(revokedAt)
            })),
            next_cursor: rest.length > limit ? (found.at(-1)?.id ?? null) : null
          }
        })
      )
      .handle(
        "revokeKey",
        Effect.fnUntraced(function* ({ params: { key_id } }) {
          const revoked = Effect.andThen(keys.revoke(KeyId.make(key_id)), keys.list)
          const found = (yield* Effect.mapError(revoked, toWireError)).find(({ id }) => id === key_id)
          // A key that was revoked earlier keeps the time of its revocation.
          const at = found?.revokedAt ?? new Date(yield* Clock.currentTimeMillis)
          return { message: "The key is revoked.", key_id, revoked_at: writeTimestamp(at) }
        })
      )
      .handle(
        "export",
        Effect.fnUntraced(function* () {
          const principal = yield* Principal
          yield* Effect.mapError(audit.record("owner_exported", principal.ownerId), toWireError)
          const at = new Date(yield* Clock.currentTimeMillis)
          return HttpServerResponse.stream(Stream.provideService(archive(wings, at), Principal, principal), {
            contentType: "application/x-tar",
            headers: { "content-disposition": 'attachment; filename="export.tar"' }
          })
        })
      )
      .handle("erase", () =>
        erasures.begin.pipe(
          Effect.map(({ id }) => ({ erasure_id: id })),
          Effect.mapError(toWireError)
        )
      )
      .handle("erasure", ({ params }) =>
        erasures.get(ErasureId.make(params.erasure_id)).pipe(
          Effect.map(({ erasure: { createdAt, endedAt, id, status }, left }) => ({
            erasure_id: id,
            status,
            left,
            created_at: createdAt.toISOString(),
            ended_at: endedAt?.toISOString() ?? null
          })),
          Effect.mapError(toWireError)
        )
      )
      .handle("usage", ({ query: { assistant_id: assistantId } }) =>
        (assistantId === undefined
          ? report()
          : Effect.flatMap(assistants.get(AssistantId.make(assistantId)), ({ id }) => report(id))
        ).pipe(
          Effect.map(({ costUsd, inputTokens, outputTokens, ...others }) => ({
            requests: toWire(others.requests),
            turns: toWire(others.turns),
            input_tokens: toWire(inputTokens),
            output_tokens: toWire(outputTokens),
            cost_usd: toWire(costUsd),
            bytes: toWire(others.bytes),
            documents: toWire(others.documents),
            memories: toWire(others.memories),
            sessions: toWire(others.sessions)
          })),
          Effect.mapError(toWireError)
        )
      )
  })
)

const toWire = ({ limit, resetsAt, used }: Allowance) => ({ used, limit, resets_at: resetsAt?.toISOString() ?? null })

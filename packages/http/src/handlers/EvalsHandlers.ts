/** Evals over HTTP. A host that has not installed `Evals.layer()` answers 501. */
import { MessageId, ThreadId } from "@colloquy/core"
import { CaseId } from "@colloquy/core/adapters"
import { Evals } from "@colloquy/core/wings"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Option from "effect/Option"
import { Api } from "../Api.ts"
import { caseFromWire, caseToWire } from "../encoding/EncodeEvals.ts"
import { evalBodies } from "../endpoints/EvalsApi.ts"
import { bodyReader } from "../wings/BodyReader.ts"
import { NotImplemented } from "../wire/Errors.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { compact, given } from "../wire/Fields.ts"
import { readIdempotency } from "./Idempotency.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "evals",
  Effect.fnUntraced(function* (handlers) {
    const read = yield* bodyReader
    const evals = Option.match(yield* Effect.serviceOption(Evals), {
      onNone: () => Effect.fail(new NotImplemented({ detail })),
      onSome: (service) => Effect.succeed(service)
    })

    return handlers
      .handleRaw("createCase", (raw) =>
        Effect.gen(function* () {
          const { createCase } = yield* evals
          const { value } = yield* read(evalBodies.create, raw)
          const { idempotency } = yield* readIdempotency(raw, () => value)
          const { message_id, question, thread_id, ...fields } = value
          const { expectations, name, tags } = fields
          const asked =
            given(thread_id) === undefined
              ? caseFromWire({ ...fields, question: question ?? "" })
              : {
                  threadId: ThreadId.make(thread_id ?? ""),
                  messageId: MessageId.make(message_id ?? ""),
                  ...compact({ name: given(name), expectations: given(expectations), tags: given(tags) })
                }
          const made = yield* Effect.mapError(createCase(asked, idempotency), toWireError)
          return HttpServerResponse.jsonUnsafe(caseToWire(made), { status: 201 })
        })
      )
      .handleRaw("importCases", (raw) =>
        Effect.gen(function* () {
          const { importCases } = yield* evals
          const { value } = yield* read(evalBodies.import, raw)
          const { idempotency } = yield* readIdempotency(raw, () => value)
          const case_ids = yield* Effect.mapError(importCases(value.cases.map(caseFromWire), idempotency), toWireError)
          return HttpServerResponse.jsonUnsafe({ imported: case_ids.length, case_ids }, { status: 201 })
        })
      )
      .handle("listCases", ({ query: { cursor, limit = 20, tag } }) =>
        Effect.gen(function* () {
          const { listCases } = yield* evals
          const after = cursor === undefined ? undefined : CaseId.make(cursor)
          const { cases, next } = yield* Effect.mapError(listCases({ limit, ...compact({ after, tag }) }), toWireError)
          return { cases: cases.map(caseToWire), next_cursor: next }
        })
      )
      .handle("getCase", ({ params }) =>
        Effect.gen(function* () {
          const { getCase } = yield* evals
          return caseToWire(yield* Effect.mapError(getCase(CaseId.make(params.case_id)), toWireError))
        })
      )
      .handleRaw("updateCase", (raw) =>
        Effect.gen(function* () {
          const { updateCase } = yield* evals
          const { value } = yield* read(evalBodies.update, raw)
          const { expectations, name, tags } = value
          const change = compact({ name, expectations: given(expectations), tags: given(tags) })
          const changed = yield* Effect.mapError(updateCase(CaseId.make(raw.params.case_id), change), toWireError)
          return HttpServerResponse.jsonUnsafe(caseToWire(changed))
        })
      )
      .handle("removeCase", ({ params }) =>
        Effect.gen(function* () {
          const { removeCase } = yield* evals
          yield* Effect.mapError(removeCase(CaseId.make(params.case_id)), toWireError)
          const deleted_at = new Date(yield* Clock.currentTimeMillis).toISOString()
          return { message: "The case was deleted.", case_id: params.case_id, deleted_at }
        })
      )
  })
)

const detail = "Evals are not available on this server: its host has not installed them."

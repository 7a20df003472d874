/** The annotations that every endpoint has. */
import type { KeyScope } from "@colloquy/core"
import * as Context from "effect/Context"
import * as OpenApi from "effect/http-api/OpenApi"
import { type Body, DeclaredBody } from "../bodies/RequestBody.ts"
import { NeedsScope } from "../wire/Middleware.ts"

/** The scope that a key needs for the endpoint, a sentence for the description of the API, and how the body is decoded; null: it has none. */
export const described = (
  scope: KeyScope,
  summary: string,
  body: Body<unknown> | null = null
): Context.Context<never> =>
  Context.empty().pipe(
    Context.add(NeedsScope, scope),
    Context.add(OpenApi.Summary, summary),
    Context.add(DeclaredBody, body)
  )

/** What concerns an owner as a whole. */
import { type Allowance, Allowances } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../Api.ts"
import { toWireError } from "../wire/ErrorStatus.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "owners",
  Effect.fnUntraced(function* (handlers) {
    const { report } = yield* Allowances
    return handlers.handle("usage", () =>
      report.pipe(
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

/** Balance, usage and upstream prices over HTTP. */
import { Billing, Catalog } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../Api.ts"
import { toWireError } from "../wire/ErrorStatus.ts"
import { upstreamToWire, usageToWire } from "../encoding/EncodeModels.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "billing",
  Effect.fnUntraced(function* (handlers) {
    const billing = yield* Billing
    const catalog = yield* Catalog
    return handlers
      .handle("upstreams", () =>
        Effect.map(catalog.upstreams, (found) => ({ providers: found.map(upstreamToWire), total: found.length }))
      )
      .handle("balance", () =>
        billing.balance.pipe(
          Effect.map((balance_usd) => ({ balance_usd })),
          Effect.mapError(toWireError)
        )
      )
      .handle("recentUsage", ({ query: { page = 1, page_size = 25 } }) =>
        billing.recentUsage({ skip: (page - 1) * page_size, limit: page_size }).pipe(
          Effect.map(({ days, total }) => ({
            data: days.map(usageToWire),
            page,
            page_size,
            total,
            total_pages: Math.ceil(total / page_size)
          })),
          Effect.mapError(toWireError)
        )
      )
  })
)

/** The capabilities are read from the kernel at each request, because parts may be added or removed while the server runs. */
import { TurnParts } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Api } from "../Api.ts"

export const layer = HttpApiBuilder.group(
  Api,
  "service",
  Effect.fnUntraced(function* (handlers) {
    const parts = yield* TurnParts
    return handlers.handle("capabilities", () =>
      Effect.sync(() => {
        const names = new Set(parts.all().map(({ name }) => name))
        return {
          typed_answers: names.has("answers"),
          documents: names.has("documents"),
          memory: names.has("memory"),
          web_search: names.has("search"),
          image_generation: names.has("image"),
          video_generation: names.has("video"),
          voice: names.has("voice"),
          evals: names.has("evals")
        }
      })
    )
  })
)

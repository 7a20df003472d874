/**
 * The service behind the page: the demo model, with files. A real host puts its own providers and `Postgres.layer` here, and authenticates
 * its users.
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import { Kernel, Providers } from "@colloquy/core"
import { Documents, TextExtractor } from "@colloquy/core/documents"
import { emptyPlace } from "@colloquy/core/retrieval"
import { webHandler } from "@colloquy/http"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { demoProvider } from "@colloquy/server/demo"

const extract: typeof TextExtractor.Service.extract = ({ bytes }) =>
  Effect.map(Stream.mkString(Stream.decodeText(bytes)), (text) => [{ ...emptyPlace, form: "prose", text }])
const kernel = Documents.layer().pipe(
  Layer.provideMerge(Kernel.layer),
  Layer.provide(Layer.succeed(TextExtractor, { readable: ["txt", "md"], extract })),
  Layer.provide(Providers.layer({ providers: [demoProvider(0)], defaults: { provider: "demo", model: "demo-1" } })),
  Layer.provide(InMemory.layer)
)
export const service = webHandler({ kernel, basePath: "/ai", authenticate: () => "guest" })

import { DocumentId } from "@colloquy/core/adapters"
import { DocumentLinks } from "@colloquy/core/documents"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

const id = DocumentId.make("0197c7b2-0000-7000-8000-000000000001")

describe("addresses of documents", () => {
  it.effect("are a path until something serves them, and again when that has ended", () =>
    Effect.gen(function* () {
      const links = yield* DocumentLinks
      const signed = Effect.exit(links.signed(id, { expiresIn: "1 minute" }))
      const nowhere = { url: `/documents/${id}/content`, signed: "NoPublicAddress" }
      const found = Effect.map(signed, (exit) => ({
        url: links.url(id),
        signed: Exit.isSuccess(exit) ? exit.value : "NoPublicAddress"
      }))
      assert.deepStrictEqual(yield* found, nowhere)

      const serving = yield* Scope.make()
      const addresses = { url: () => "/a", signed: () => "https://b" }
      yield* links.serve(addresses).pipe(Scope.provide(serving))
      assert.deepStrictEqual(yield* found, { url: "/a", signed: "https://b" })

      yield* Scope.close(serving, Exit.void)
      assert.deepStrictEqual(yield* found, nowhere)
    }).pipe(Effect.provide(DocumentLinks.layer))
  )

  it.effect("a server that does not know its own address gives none to others", () =>
    Effect.gen(function* () {
      const links = yield* DocumentLinks
      yield* links.serve({ url: () => "/a", signed: () => null })
      const error = yield* Effect.flip(links.signed(id, { expiresIn: "1 minute" }))
      assert.strictEqual(error._tag, "NoPublicAddress")
      assert.include(error.message, id)
    }).pipe(Effect.scoped, Effect.provide(DocumentLinks.layer))
  )
})

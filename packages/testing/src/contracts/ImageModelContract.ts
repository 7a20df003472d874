/**
 * The contract of `ImageModel`, in the terms of the port. The suite calls an adapter only through the port, and controls the vendor behind
 * it (a server that speaks the vendor's wire) through `ImageVendor`.
 */
import type { ImageModel, ImageRequest, ModelError } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { expectQuietError } from "./TextForUsers.ts"

/** A request that the vendor received. */
export interface SeenImageRequest {
  /** The whole header that contains the key. */
  readonly key: string
  readonly prompt: string
  readonly inputs: ReadonlyArray<Uint8Array>
}

/** An image model with a vendor that draws what a test gives it. */
export interface ImageVendor {
  /** With the host's key `sk-of-the-host`. */
  readonly model: ImageModel
  readonly name: string
  /** How many bytes of an answer the adapter buffers; null if a library of the host reads the answer. */
  readonly mostBytes: number | null
  /** The price that the vendor reports with its pictures; null if it reports none. */
  readonly costUsd: number | null
  /** Each call answers one request, in the order of the calls. */
  readonly gives: (...pictures: ReadonlyArray<Uint8Array>) => void
  /** Answers with the address of a picture, as some vendors do. */
  readonly givesAddress: (url: string) => void
  readonly answers: (status: number, headers: { readonly [name: string]: string }, body: string) => void
  /** Begins an answer and then closes the connection. */
  readonly breaksOff: () => void
  /** Accepts the request and does not answer; `left` completes when the connection is closed. */
  readonly hangs: () => { readonly asked: Effect.Effect<void>; readonly left: Effect.Effect<void> }
  readonly seen: Effect.Effect<ReadonlyArray<SeenImageRequest>>
  /** Another server, which no adapter may call. */
  readonly trap: { readonly url: string; readonly visits: () => number }
}

const first = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0, 255, 13, 10)
const second = Uint8Array.of(0xff, 0xd8, 0xff, 1)

/** `error` makes the body of an error of this vendor, containing these words. */
export const imageModelSuite = (
  name: string,
  open: Effect.Effect<ImageVendor, never, Scope.Scope>,
  wire: { readonly takesInputs: boolean; readonly error: (words: string) => string }
): void => {
  describe(`the contract of ImageModel: ${name}`, () => {
    const asked = (vendor: ImageVendor, fields: Partial<ImageRequest> = {}): Effect.Effect<void, ModelError> =>
      Effect.asVoid(vendor.model.generate({ ...request(vendor), ...fields }))

    const request = (vendor: ImageVendor): ImageRequest => ({
      provider: "vendor",
      model: vendor.name,
      prompt: "A fox in the snow ☃",
      inputs: [],
      options: {},
      apiKey: null
    })

    it.live("MUST give the bytes of the picture as they were sent, with the cost that the vendor reports", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.gives(first)
        const answer = yield* vendor.model.generate(request(vendor))
        assert.deepStrictEqual(answer.images, [first])
        assert.strictEqual(answer.usage.costUsd, vendor.costUsd)
        const [seen, ...others] = yield* vendor.seen
        assert.deepStrictEqual(others, [])
        assert.strictEqual(seen?.prompt, "A fox in the snow ☃")
        assert.include(seen?.key, "sk-of-the-host")
      })
    )

    it.live("MUST give all pictures of an answer in their order", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.gives(first, second)
        assert.deepStrictEqual((yield* vendor.model.generate(request(vendor))).images, [first, second])
      })
    )

    if (wire.takesInputs) {
      it.live("MUST send the input pictures unchanged, in one request", () =>
        Effect.gen(function* () {
          const vendor = yield* open
          vendor.gives(second)
          const inputs = [
            { mediaType: "image/png", bytes: first },
            { mediaType: "image/jpeg", bytes: second }
          ]
          yield* asked(vendor, { inputs })
          assert.deepStrictEqual(
            (yield* vendor.seen).map((each) => [each.prompt, ...each.inputs]),
            [["A fox in the snow ☃", first, second]]
          )
        })
      )
    }

    it.live("MUST ask with the customer's own key if there is one", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.gives(first)
        yield* asked(vendor, { apiKey: Redacted.make("sk-of-the-customer") })
        assert.include((yield* vendor.seen)[0]?.key, "sk-of-the-customer")
        assert.notInclude((yield* vendor.seen)[0]?.key, "sk-of-the-host")
      })
    )

    for (const [status, reason] of [
      [400, "invalid_request"],
      [401, "auth"],
      [402, "quota"],
      [429, "rate_limited"],
      [503, "overloaded"]
    ] as const) {
      it.live(`MUST fail with ${reason} on status ${status}, after one request, without any text of the vendor`, () =>
        Effect.gen(function* () {
          const vendor = yield* open
          const headers = { "content-type": "application/json", "retry-after": "7" }
          vendor.answers(status, headers, wire.error("sk-of-the-host cannot draw a fox"))
          const error = yield* Effect.flip(asked(vendor))
          assert.deepInclude(error, { _tag: "ModelError", reason, status, retryAfterMillis: 7000 })
          expectQuietError(error, /fox/u)
          assert.strictEqual((yield* vendor.seen).length, 1)
        })
      )
    }

    const html = { "content-type": "text/html" }
    for (const [what, answer] of [
      ["a page of HTML with 200", (vendor: ImageVendor) => vendor.answers(200, html, "<html>Busy</html>")],
      ["JSON of another kind", (vendor: ImageVendor) => vendor.answers(200, {}, '{"data":{"a":[1]},"candidates":7}')],
      ["an answer without a picture", (vendor: ImageVendor) => vendor.gives()],
      ["a picture that is no base64 text", (vendor: ImageVendor) => vendor.gives(new Uint8Array())],
      ["an answer that breaks off", (vendor: ImageVendor) => vendor.breaksOff()]
    ] as const) {
      it.live(`MUST fail, and not with a defect, on ${what}`, () =>
        Effect.gen(function* () {
          const vendor = yield* open
          answer(vendor)
          assert.strictEqual((yield* Effect.flip(asked(vendor)))._tag, "ModelError")
          assert.strictEqual((yield* vendor.seen).length, 1)
        })
      )
    }

    it.live("MUST fail on an answer that is larger than it buffers", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        if (vendor.mostBytes === null) return
        vendor.gives(new Uint8Array(vendor.mostBytes))
        assert.strictEqual((yield* Effect.flip(asked(vendor)))._tag, "ModelError")
        assert.strictEqual((yield* vendor.seen).length, 1)
      })
    )

    it.live("MUST NOT follow a redirect, nor fetch an address that the vendor names", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.answers(302, { location: vendor.trap.url }, "")
        assert.strictEqual((yield* Effect.flip(asked(vendor)))._tag, "ModelError")
        vendor.answers(307, { location: vendor.trap.url }, "")
        assert.strictEqual((yield* Effect.flip(asked(vendor)))._tag, "ModelError")
        vendor.givesAddress(vendor.trap.url)
        assert.strictEqual((yield* Effect.flip(asked(vendor)))._tag, "ModelError")
        assert.strictEqual(vendor.trap.visits(), 0)
      })
    )

    it.live("MUST close the connection when it is interrupted", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        const { asked: arrived, left } = vendor.hangs()
        const ended = yield* Deferred.make<Exit.Exit<void, ModelError>>()
        const fiber = yield* Effect.forkChild(Effect.onExit(asked(vendor), (exit) => Deferred.succeed(ended, exit)))
        yield* arrived
        yield* Fiber.interrupt(fiber)
        assert.isTrue(Exit.hasInterrupts(yield* Deferred.await(ended)))
        yield* left
      })
    )
  })
}

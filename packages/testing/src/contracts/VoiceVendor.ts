/**
 * The common part of the contracts of `SpeechToText` and `TextToSpeech`: the vendor behind its wire, and what both ports promise when it
 * fails.
 */
import type { ModelError } from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { TakeCase } from "./DriverChecks.ts"
import { expectQuietError } from "./TextForUsers.ts"

/** A vendor of voice, behind its wire. Each call answers one request, in the order of the calls. */
export interface VoiceVendor {
  readonly model: string
  readonly answers: (status: number, headers: { readonly [name: string]: string }, body: string) => void
  /** Begins an answer and then closes the connection. */
  readonly breaksOff: () => void
  /** Writes an answer without an end, until the connection is closed. */
  readonly neverEnds: () => void
  /** Accepts the request and does not answer; `left` completes when the connection is closed. */
  readonly hangs: () => { readonly asked: Effect.Effect<void>; readonly left: Effect.Effect<void> }
  /** The headers with the keys of all requests; null for each, if the vendor takes no key. */
  readonly keys: Effect.Effect<ReadonlyArray<string | null>>
}

/** The first request had this key, and not the host's beside it. */
export const expectKey = ([key]: ReadonlyArray<string | null>, wanted: string): void => {
  if (key === null) return
  assert.include(key, wanted, "The driver asked with another key.")
  if (wanted !== "sk-of-the-host") assert.notInclude(key, "sk-of-the-host", "The driver sent the host's key, too.")
}

interface Asking<Vendor> {
  /** Makes one request, with a customer's key or (null) the host's. */
  readonly ask: (vendor: Vendor, apiKey: Redacted.Redacted<string> | null) => Effect.Effect<unknown, ModelError>
  /** Lets the vendor answer one request correctly. */
  readonly answersWell: (vendor: Vendor) => void
  /** Answers that are not usable, with a description of each. */
  readonly broken: ReadonlyArray<readonly [what: string, answer: (vendor: Vendor) => void]>
  /** How many milliseconds a driver may take. */
  readonly patience: number
}

export const voiceVendorTests = <Vendor extends VoiceVendor>(
  test: TakeCase,
  open: Effect.Effect<Vendor, never, Scope.Scope>,
  { answersWell, ask, broken, patience }: Asking<Vendor>
): void => {
  const within = (waits: Effect.Effect<void>, did: string) =>
    Effect.timeoutOrElse(waits, {
      duration: patience,
      orElse: () => Effect.sync(() => assert.fail(`The driver ${did} within ${patience / 1000} seconds.`))
    })

  test("MUST ask with the customer's own key if there is one", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      answersWell(vendor)
      yield* ask(vendor, Redacted.make("sk-of-the-customer"))
      expectKey(yield* vendor.keys, "sk-of-the-customer")
    }))

  for (const [status, reason] of [
    [401, "auth"],
    [429, "rate_limited"],
    [503, "overloaded"]
  ] as const) {
    test(`MUST fail with ${reason} on status ${status}, after one request, without any text of the vendor`, () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.answers(status, { "retry-after": "7" }, '{"detail":"sk-of-the-host said a secret"}')
        const error = yield* Effect.flip(ask(vendor, null))
        assert.deepInclude(error, { _tag: "ModelError", reason, status, retryAfterMillis: 7000 })
        expectQuietError(error, /secret/u)
        assert.strictEqual((yield* vendor.keys).length, 1)
      }))
  }

  const alwaysBroken: typeof broken = [
    ["a page of HTML with 200", (vendor) => vendor.answers(200, { "content-type": "text/html" }, "<html>")],
    ["an answer that breaks off", (vendor) => vendor.breaksOff()],
    ["an answer without an end", (vendor) => vendor.neverEnds()]
  ]
  for (const [what, answer] of [...broken, ...alwaysBroken]) {
    test(`MUST fail, and not with a defect, on ${what}`, () =>
      Effect.gen(function* () {
        const vendor = yield* open
        answer(vendor)
        assert.strictEqual((yield* Effect.flip(ask(vendor, null)))._tag, "ModelError")
      }))
  }

  test("MUST close the connection when it is interrupted", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      const { asked, left } = vendor.hangs()
      const fiber = yield* Effect.forkChild(ask(vendor, null))
      yield* within(asked, "sent no request")
      yield* Fiber.interrupt(fiber)
      yield* within(left, "did not close its connection after an interruption")
    }))
}

/**
 * The contract of `VideoModel`. An adapter's test provides the adapter and a provider behind it that plays the scenes of the suite:
 * `videoModelSuite("my videos", upstream)`.
 */
import {
  mayHaveBeenOrdered,
  type VideoAccount,
  type VideoJobStatus,
  type VideoModel,
  type VideoOrder
} from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** How the provider of clips behaves in a test. */
export interface VideoScene {
  /** The answer to an order: accepted, refused, a server error, or a connection that breaks before the answer. Default: accepted. */
  readonly order?: "taken" | "refused" | "fault" | "broken"
  /**
   * The answer to a status request: a state, an unknown state, no such job, too many requests (wait 7 seconds), a server error. Default:
   * pending.
   */
  readonly look?: VideoJobStatus | "strange" | "missing" | "busy" | "fault"
  /** The cost that the provider reports; absent if it reports none. */
  readonly cost?: number
  /** The video's bytes: all of them, a connection that breaks in between, a redirect to another address, not ready yet. Default: all. */
  readonly clip?: "whole" | "broken" | "redirect" | "not_ready"
}

/** A video model with a provider that plays scenes. */
export interface VideoUpstream {
  readonly model: VideoModel
  readonly account: VideoAccount
  readonly play: (scene: VideoScene) => void
  /** The bytes of every video. */
  readonly clip: Uint8Array
  /** The number of orders that reached the provider. */
  readonly orders: () => number
  /** The number of requests that reached the address to which the provider redirects. */
  readonly elsewhere: () => number
}

const states: ReadonlyArray<VideoJobStatus> = ["pending", "in_progress", "completed", "failed", "cancelled", "expired"]

/** What every model of videos must do. */
export const videoModelSuite = (name: string, upstream: Effect.Effect<VideoUpstream, never, Scope.Scope>): void => {
  describe(`the promises of ${name}`, () => {
    const test = (title: string, body: (upstream: VideoUpstream) => Effect.Effect<void, unknown>) =>
      it.live(title, () => Effect.scoped(Effect.flatMap(upstream, body)))

    const orderFor = ({ account }: VideoUpstream): VideoOrder => ({
      ...account,
      prompt: "A boat at dawn",
      options: { duration: 5, provider: { order: ["acme"] } },
      firstFrame: { bytes: Uint8Array.of(1, 2, 3), mimeType: "image/png" },
      lastFrame: null,
      references: []
    })
    const submit = (to: VideoUpstream) => to.model.submit(orderFor(to))
    const ordered = (to: VideoUpstream) => Effect.map(submit(to), ({ id }) => id)

    test("MUST give the job of an order, without a cost that was not reported", (to) =>
      Effect.gen(function* () {
        const job = yield* submit(to)
        assert.notStrictEqual(job.id, "")
        assert.deepInclude(job, { status: "pending", costUsd: null })
        assert.strictEqual(to.orders(), 1)
      }))

    for (const order of ["fault", "broken"] as const) {
      test(`MUST send an order once at most, and leave open whether it arrived (${order})`, (to) =>
        Effect.gen(function* () {
          to.play({ order })
          const error = yield* Effect.flip(submit(to))
          assert.strictEqual(to.orders(), 1)
          assert.isTrue(mayHaveBeenOrdered(error), error.reason)
        }))
    }

    test("MUST distinguish a refused order from one that may have arrived", (to) =>
      Effect.gen(function* () {
        to.play({ order: "refused" })
        const error = yield* Effect.flip(submit(to))
        assert.isFalse(mayHaveBeenOrdered(error), error.reason)
        assert.strictEqual(to.orders(), 1)
      }))

    for (const status of states) {
      test(`MUST return the state of a job, and the cost that the provider reports (${status})`, (to) =>
        Effect.gen(function* () {
          const id = yield* ordered(to)
          to.play({ look: status, cost: 0.42 })
          assert.deepInclude(Option.getOrThrow(yield* to.model.status(id, to.account)), { id, status, costUsd: 0.42 })
          to.play({ look: status })
          assert.deepInclude(Option.getOrThrow(yield* to.model.status(id, to.account)), { status, costUsd: null })
        }))
    }

    test("MUST treat an unknown state as a job in progress", (to) =>
      Effect.gen(function* () {
        const id = yield* ordered(to)
        to.play({ look: "strange" })
        const job = Option.getOrThrow(yield* to.model.status(id, to.account))
        assert.include(["pending", "in_progress"], job.status)
      }))

    test("MUST answer none for a job that the provider does not know, and only then", (to) =>
      Effect.gen(function* () {
        const id = yield* ordered(to)
        to.play({ look: "missing" })
        assert.isTrue(Option.isNone(yield* to.model.status(id, to.account)))
        to.play({ look: "fault" })
        assert.isTrue((yield* Effect.flip(to.model.status(id, to.account))).isRetryable)
      }))

    test("MUST return the pause that the provider asks for", (to) =>
      Effect.gen(function* () {
        const id = yield* ordered(to)
        to.play({ look: "busy" })
        const error = yield* Effect.flip(to.model.status(id, to.account))
        assert.deepInclude(error, { isRetryable: true, retryAfterMillis: 7000 })
      }))

    test("MUST give the bytes of a completed job as they are", (to) =>
      Effect.gen(function* () {
        const id = yield* ordered(to)
        const bytes = yield* Stream.mkUint8Array(to.model.content(id, to.account))
        assert.isTrue(same(bytes, to.clip))
      }))

    test("MUST fail, and not end early, when the bytes break off", (to) =>
      Effect.gen(function* () {
        const id = yield* ordered(to)
        to.play({ clip: "broken" })
        const error = yield* Effect.flip(Stream.runDrain(to.model.content(id, to.account)))
        assert.isTrue(error.isRetryable, error.reason)
      }))

    test("MUST NOT follow the provider to another address", (to) =>
      Effect.gen(function* () {
        const id = yield* ordered(to)
        to.play({ clip: "redirect" })
        const error = yield* Effect.flip(Stream.runDrain(to.model.content(id, to.account)))
        assert.isFalse(error.isRetryable, error.reason)
        assert.strictEqual(to.elsewhere(), 0)
      }))

    test("MUST let a video that is not ready be read again later", (to) =>
      Effect.gen(function* () {
        const id = yield* ordered(to)
        to.play({ clip: "not_ready" })
        assert.isTrue((yield* Effect.flip(Stream.runDrain(to.model.content(id, to.account)))).isRetryable)
      }))
  })
}

const same = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index])

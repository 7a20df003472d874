/**
 * What `VideoModel` promises. An adapter brings itself and the provider behind it, which plays what the suite asks for:
 * `videoModelSuite("my videos", upstream)`.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import {
  mayHaveBeenOrdered,
  type VideoAccount,
  type VideoJobStatus,
  type VideoModel,
  type VideoOrder
} from "../models/VideoModel.ts"

export interface VideoScene {
  /** What becomes of the order: taken, refused, a fault of the provider, or a connection that breaks before the answer. Default: taken. */
  readonly order?: "taken" | "refused" | "fault" | "broken"
  /** What a look brings: a state, a state that nobody knows, no such job, too many requests (wait 7 seconds), a fault. Default: pending. */
  readonly look?: VideoJobStatus | "strange" | "missing" | "busy" | "fault"
  /** As the provider reports it; absent: it does not. */
  readonly cost?: number
  /** The clip: all of it, a connection that breaks within it, a redirect elsewhere, not ready yet. Default: whole. */
  readonly clip?: "whole" | "broken" | "redirect" | "not_ready"
}

export interface VideoUpstream {
  readonly model: VideoModel
  readonly account: VideoAccount
  readonly play: (scene: VideoScene) => void
  /** The bytes of every clip. */
  readonly clip: Uint8Array
  /** Orders that reached the provider. */
  readonly orders: () => number
  /** Requests that reached the place to which the provider redirects. */
  readonly elsewhere: () => number
}

const states: ReadonlyArray<VideoJobStatus> = ["pending", "in_progress", "completed", "failed", "cancelled", "expired"]

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

    test("MUST give the job of an order, with no cost that was not told", (to) =>
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

    test("MUST tell an order that was refused from one that may have arrived", (to) =>
      Effect.gen(function* () {
        to.play({ order: "refused" })
        const error = yield* Effect.flip(submit(to))
        assert.isFalse(mayHaveBeenOrdered(error), error.reason)
        assert.strictEqual(to.orders(), 1)
      }))

    for (const status of states) {
      test(`MUST tell the state of a job, and what the provider says it cost (${status})`, (to) =>
        Effect.gen(function* () {
          const id = yield* ordered(to)
          to.play({ look: status, cost: 0.42 })
          assert.deepInclude(Option.getOrThrow(yield* to.model.status(id, to.account)), { id, status, costUsd: 0.42 })
          to.play({ look: status })
          assert.deepInclude(Option.getOrThrow(yield* to.model.status(id, to.account)), { status, costUsd: null })
        }))
    }

    test("MUST take an unknown state for one that goes on", (to) =>
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

    test("MUST tell for how long the provider wants to be left alone", (to) =>
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

    test("MUST let a clip that is not ready be asked for again", (to) =>
      Effect.gen(function* () {
        const id = yield* ordered(to)
        to.play({ clip: "not_ready" })
        assert.isTrue((yield* Effect.flip(Stream.runDrain(to.model.content(id, to.account)))).isRetryable)
      }))
  })
}

const same = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index])

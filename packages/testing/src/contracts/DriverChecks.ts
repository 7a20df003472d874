/**
 * How the contracts of chat drivers, embedding drivers and rerankers call an adapter: with a sentence for whatever goes wrong, which says what
 * the adapter did, and what it must do.
 */
import type { ModelError } from "@colloquy/core/adapters"
import { assert, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { isSame, letPass, said, shown } from "./PartSteps.ts"
import { textForUsers, wholeText } from "./TextForUsers.ts"

/** Takes the cases of a contract. */
export type TakeCase = (title: string, run: () => Effect.Effect<void, unknown, Scope.Scope>) => void

/** Longer than an adapter may take, so that the sentence comes first. */
export const asTest: TakeCase = (title, run) => it.effect(title, run, 120_000)

/** With the real clock, for an adapter that waits. */
export const asLiveTest: TakeCase = (title, run) => it.live(title, run, 30_000)

/** How many milliseconds an adapter may take for one thing, against a server on the same machine. */
export const usualPatience = 10_000

/** Where a vendor writes these words, no error may repeat them. */
export const vendorWords = "sk-of-the-host wrote a secret"

/** A part of a request, with what it is. */
export type Sent = readonly [what: string, text: string]

/** `who`: "driver" or "reranker". */
export const driverChecks = (who: string, patience: number) => {
  const seconds = `${patience / 1000} seconds`

  const fault = (did: string, must: string, cause?: unknown): never => {
    throw new Error(`The ${who} ${did}. It must ${must}.`, { cause })
  }

  /** Waits as long as an adapter may take. */
  const within = <A, E, R>(effect: Effect.Effect<A, E, R>, did: string, must: string): Effect.Effect<A, E, R> =>
    Effect.flatMap(
      Effect.raceFirst(Effect.asSome(effect), Effect.as(letPass(patience), Option.none<A>())),
      Option.match({
        onNone: () => Effect.sync(() => fault(`${did} within ${seconds}`, must)),
        onSome: (value) => Effect.succeed(value)
      })
    )

  /** What a call gives; one that cannot be interrupted is left behind. `on` says what the vendor did: `on a refused key`. */
  const ask = Effect.fnUntraced(function* <A, E, R>(on: string, run: () => Effect.Effect<A, E, R>, must = "do so") {
    const fiber = yield* Effect.forkDetach(Effect.suspend(run), { startImmediately: true })
    const ended = within(Fiber.await(fiber), `did not end ${on}`, must)
    const exit = yield* Effect.onExit(ended, () => Effect.sync(() => fiber.interruptUnsafe()))
    if (Exit.isFailure(exit) && Cause.hasDies(exit.cause)) {
      const cause = Cause.squash(exit.cause)
      const what = isModelError(cause) ? "which is a `ModelError`" : said(cause)
      return fault(`has a defect ${on} (${what})`, "fail with a `ModelError`, and never with a defect", cause)
    }
    return yield* exit
  })

  /** The error of a call that must fail. */
  const expectFailure = Effect.fnUntraced(function* <A, R>(
    on: string,
    run: () => Effect.Effect<A, { readonly _tag: string }, R>
  ) {
    const result = yield* Effect.result(ask(on, run, "fail with a `ModelError`"))
    if (Result.isSuccess(result)) return fault(`answered ${on}`, "fail with a `ModelError`")
    const error = result.failure
    if (!isModelError(error)) return fault(`failed with ${shown(error)} ${on}`, "fail with a `ModelError`")
    expectQuiet(error, on)
    return error
  })

  const expectQuiet = (error: ModelError | null, on: string, words = /sk-of-the-host|secret/u): void => {
    const text = textForUsers(error)
    if (words.test(text)) fault(`put text of the provider into its error ${on} (${shown(text)})`, "fail without any")
    if (wholeText(error).includes("sk-of-the-host"))
      fault(`put the host's key into its error ${on}`, "keep keys from all fields, also from `forOperator`")
  }

  /** The test shows where the two differ. */
  const expectFields = (on: string, found: object, wanted: object): void => {
    const told = new Map<string, unknown>(Object.entries(found))
    for (const [field, value] of new Map<string, unknown>(Object.entries(wanted))) {
      if (isSame(told.get(field), value)) continue
      const did = `told \`${field}\` as ${shown(told.get(field))} ${on}`
      assert.fail(found, wanted, `The ${who} ${did}. It must tell it as ${shown(value)}.`)
    }
  }

  const expectRequests = (count: number, calls = 1): void => {
    const must = "send one request for each call, and leave it to the kernel to ask again"
    if (count !== calls) fault(`sent ${count} requests for ${calls === 1 ? "one call" : `${calls} calls`}`, must)
  }

  /** `request`: what the vendor received. `inOrder` stand there one after the other, `anywhere` wherever they are. */
  const expectSent = (request: unknown, inOrder: ReadonlyArray<Sent>, anywhere: ReadonlyArray<Sent> = []): void => {
    const received = JSON.stringify(request, bytesAsText) ?? ""
    // A text with a line break or a quotation mark is looked for as it stands in JSON.
    const findText = (text: string, from: number) =>
      received.indexOf(received.includes(text, from) ? text : JSON.stringify(text).slice(1, -1), from)
    for (const [what, text] of [...anywhere, ...inOrder])
      if (findText(text, 0) === -1) fault(`did not send ${what} (${shown(text)})`, "send the whole request, unchanged")
    let last = -1
    for (const [what, text] of inOrder) {
      const at = findText(text, last + 1)
      if (at === -1) fault(`sent ${what} (${shown(text)}) before what it follows`, "keep the order of the request")
      last = at
    }
  }

  /** An option is seen by what it changes. */
  const expectOption = (option: string, value: unknown, without: unknown, request: unknown): void => {
    if (JSON.stringify(without) !== JSON.stringify(request)) return
    fault(
      `sent with \`${option}\` as ${shown(value)} the same request as without it`,
      `tell the provider; if the provider has nothing of this kind, name "${option}" with the reason in \`cannot\` of the suite`
    )
  }

  const expectKeys = ([first = "", second = ""]: ReadonlyArray<string>): void => {
    const must = "use the host's key, and the `apiKey` of the request in its place if there is one"
    if (!first.includes("sk-of-the-host")) fault("did not send the host's key for a request without an `apiKey`", must)
    if (!second.includes("sk-of-the-customer")) fault("did not send the `apiKey` of the request", must)
    if (second.includes("sk-of-the-host")) fault("sent the host's key beside the `apiKey` of the request", must)
  }

  /** The vendor does not answer, and the call is interrupted. */
  const expectClosed = Effect.fnUntraced(function* <A, E, R>(
    { asked, left }: { readonly asked: Effect.Effect<void>; readonly left: Effect.Effect<void> },
    run: () => Effect.Effect<A, E, R>
  ) {
    const fiber = yield* Effect.forkDetach(Effect.suspend(run), { startImmediately: true })
    yield* within(asked, "sent no request", "send one for each call")
    yield* within(
      Effect.andThen(Fiber.interrupt(fiber), left),
      "did not close its connection after an interruption",
      "close it at once"
    )
  })

  return {
    ask,
    expectClosed,
    expectFields,
    expectKeys,
    expectOption,
    expectQuiet,
    expectRequests,
    expectSent,
    expectFailure,
    fault,
    within
  }
}

/** For `JSON.stringify`: bytes as base64. A driver without a wire sends them as they are. */
export const bytesAsText = (_name: string, value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value

const isModelError = (error: unknown): error is ModelError =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "ModelError"

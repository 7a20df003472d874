/**
 * The contract of `EmbeddingDriver`, in the terms of the port. The suite calls a driver only through the port, and controls the provider
 * behind it (a server that speaks the provider's wire) through `EmbeddingVendor`.
 */
import type { EmbeddingDriver, EmbeddingRequest } from "@colloquy/core/adapters"
import { describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { asTest, driverChecks, type Sent, type TakeCase, usualPatience, vendorWords } from "./DriverChecks.ts"
import { shown } from "./PartSteps.ts"

/** A driver with a vendor that gives the vectors of a test. */
export interface EmbeddingVendor {
  /** With the host's key `sk-of-the-host`. Vectors of its model have four numbers. */
  readonly driver: EmbeddingDriver
  readonly model: string
  /** Answers one request with these vectors, on the wire of the vendor; no tokens are told if they are null. */
  readonly gives: (vectors: ReadonlyArray<unknown>, tokens: number | null) => void
  /** Absent: the driver has no wire, as a model in the same process. */
  readonly wire?: {
    /** Answers one request with an error that contains these words. */
    readonly refuses: (status: number, headers: { readonly [name: string]: string }, words: string) => void
    /** Answers one request with status 200 and this JSON. */
    readonly sends: (json: string) => void
    /** The headers with the keys of all requests. */
    readonly keys: () => ReadonlyArray<string>
  }
  /** Accepts the request and does not answer; `left` completes when the connection is closed. */
  readonly hangs: () => { readonly asked: Effect.Effect<void>; readonly left: Effect.Effect<void> }
  /** All requests as values of JSON: the body, and the address if that names the model. The suite looks for its texts in them. */
  readonly seen: () => ReadonlyArray<unknown>
}

/** What the vendor cannot do, each with its reason. */
export interface EmbeddingSuiteOptions {
  /** Options that its wire does not have, and `usage` where it never tells how many tokens it used. */
  readonly cannot?: { readonly [option in "dimensions" | "purpose" | "usage"]?: string }
}

const texts = ["Grüße, 世界 🌍", '  A lighthouse\nat "night"  ']
const inOrder: ReadonlyArray<Sent> = texts.map((text) => ["a text", text])

const first = [0.75, -0.25, 0, 0.5]
const second = [0, 0.5, 0.25, -0.125]

/** A driver may give its vectors unit length, and a vendor may round. */
const isVector = (vector: Float32Array, given: ReadonlyArray<number>): boolean => {
  const length = Math.hypot(...given)
  const isNear = (numbers: ReadonlyArray<number>) =>
    vector.length === numbers.length && numbers.every((each, at) => Math.abs(each - (vector[at] ?? 0)) < 0.01)
  return isNear(given) || isNear(given.map((each) => each / length))
}

/** What every driver of embedding models must do. */
export const embeddingDriverSuite = (
  name: string,
  open: Effect.Effect<EmbeddingVendor, never, Scope.Scope>,
  options: EmbeddingSuiteOptions = {}
): void => {
  describe(`the contract of EmbeddingDriver: ${name}`, () => embeddingDriverCases(asTest, open, options))
}

/** Its cases; `patience`: how many milliseconds a driver may take. */
export const embeddingDriverCases = (
  test: TakeCase,
  open: Effect.Effect<EmbeddingVendor, never, Scope.Scope>,
  { cannot = {} }: EmbeddingSuiteOptions = {},
  patience = usualPatience
): void => {
  const checks = driverChecks("driver", patience)
  const { expectFields, expectRequests, expectFailure, fault } = checks

  const embed = ({ driver, model }: EmbeddingVendor, fields: Partial<EmbeddingRequest> = {}) =>
    driver.embed({
      provider: "vendor",
      model,
      texts,
      dimensions: null,
      purpose: "document",
      apiKey: null,
      ...fields
    })

  /** Of a vendor that answers well. */
  const ask = (vendor: EmbeddingVendor, fields?: Partial<EmbeddingRequest>) =>
    checks.ask("on an answer with the vectors", () => embed(vendor, fields))

  test("MUST give one vector for each text, in the order of the texts, after one request", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      vendor.gives([first, second], 7)
      const { usage, vectors } = yield* ask(vendor)
      const given = [first, second]
      const must = "give the vector of each text as a `Float32Array`, in the order of the texts"
      if (vectors.length !== 2) fault(`gave ${vectors.length} vectors for 2 texts`, must)
      vectors.forEach((vector, index) => {
        if (!(vector instanceof Float32Array))
          return fault(`gave the vector ${shown(vector)}, which is no \`Float32Array\``, must)
        const numbers = given[index] ?? []
        if (!isVector(vector, numbers))
          fault(`gave the numbers ${shown([...vector])} where the provider gave ${shown(numbers)}`, must)
      })
      if (cannot.usage === undefined)
        expectFields("on an answer with 7 tokens", usage, { inputTokens: 7, outputTokens: 0, estimated: false })
      expectRequests(vendor.seen().length)
    }))

  test("MUST send every text unchanged, in the order of the texts", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      vendor.gives([first, second], 7)
      yield* ask(vendor)
      checks.expectSent(vendor.seen()[0], inOrder, [["the name of the model", vendor.model]])
    }))

  for (const [option, fields, vectors] of [
    ["dimensions", { dimensions: 2 }, [first.slice(0, 2), second.slice(0, 2)]],
    ["purpose", { purpose: "query" }, [first, second]]
  ] as const) {
    if (cannot[option] !== undefined) continue
    test(`MUST tell the provider \`${option}\``, () =>
      Effect.gen(function* () {
        const vendor = yield* open
        vendor.gives([first, second], 7)
        yield* ask(vendor)
        vendor.gives(vectors, 7)
        yield* ask(vendor, fields)
        const [without, request] = vendor.seen()
        checks.expectOption(option, Object.values(fields)[0], without, request)
      }))
  }

  test("MUST take at least one text of at least one character in a request", () =>
    Effect.gen(function* () {
      const { driver } = yield* open
      for (const limit of ["maxTexts", "maxCharacters"] as const)
        if (!(driver[limit] >= 1)) fault(`has the limit ${driver[limit]} as \`${limit}\``, "take at least 1")
    }))

  test("MUST estimate the usage that the provider does not tell", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      vendor.gives([first, second], null)
      const { usage } = yield* ask(vendor)
      if (!usage.estimated || usage.inputTokens <= 0)
        fault(`told the usage ${shown(usage)} where the provider told none`, "estimate it, and say so with `estimated`")
    }))

  test("MUST ask with the customer's own key if there is one", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      if (vendor.wire === undefined) return
      for (const apiKey of [null, Redacted.make("sk-of-the-customer")]) {
        vendor.gives([first, second], 7)
        yield* ask(vendor, { apiKey })
      }
      checks.expectKeys(vendor.wire.keys())
    }))

  /** Says this and a key. */
  const refusal = Effect.fnUntraced(function* (
    vendor: EmbeddingVendor,
    { refuses }: NonNullable<EmbeddingVendor["wire"]>,
    status: number,
    words: string
  ) {
    const on = `on the status ${status}`
    refuses(status, { "retry-after": "7" }, `${words}, said sk-of-the-host`)
    const error = yield* expectFailure(on, () => embed(vendor))
    expectRequests(vendor.seen().length)
    expectFields(on, error, { status, retryAfterMillis: 7000 })
    checks.expectQuiet(error, on, /9000/u)
    return { error, on }
  })

  for (const [status, reason, words] of [
    [401, "auth", "no"],
    [404, "model_not_found", "no"],
    [429, "rate_limited", "no"],
    [503, "overloaded", "no"],
    [422, "invalid_request", "a secret"]
  ] as const) {
    test(`MUST fail with ${reason} on status ${status}, after one request, without any text of the provider`, () =>
      Effect.gen(function* () {
        const vendor = yield* open
        if (vendor.wire === undefined) return
        const { error, on } = yield* refusal(vendor, vendor.wire, status, words)
        expectFields(on, error, { reason })
      }))
  }

  test("MUST fail with context_too_long or invalid_request where a text is too long, without any text of the provider", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      if (vendor.wire === undefined) return
      const { error, on } = yield* refusal(vendor, vendor.wire, 400, "too many tokens: 9000")
      if (error.reason !== "context_too_long" && error.reason !== "invalid_request")
        fault(`told \`reason\` as ${shown(error.reason)} ${on}`, "tell `context_too_long` or `invalid_request`")
    }))

  for (const [what, answer] of [
    ["too few vectors", (vendor: EmbeddingVendor) => vendor.gives([second], 7)],
    ["too many vectors", (vendor: EmbeddingVendor) => vendor.gives([first, second, first], 7)],
    ["vectors without numbers", (vendor: EmbeddingVendor) => vendor.gives([["a secret"], ["sk-of-the-host"]], 7)],
    ["a number that is missing", (vendor: EmbeddingVendor) => vendor.gives([[0.5, null, 0.25, 0.5], second], 7)],
    ["half a number", (vendor: EmbeddingVendor) => vendor.gives(["AAA=", "AAA="], 7)],
    ["no vectors", (vendor: EmbeddingVendor) => vendor.gives([null, []], 7)],
    ["another shape", (vendor: EmbeddingVendor) => vendor.wire?.sends(`[1,2,"${vendorWords}"]`)],
    ["an empty object", (vendor: EmbeddingVendor) => vendor.wire?.sends("{}")],
    ["text that is no JSON", (vendor: EmbeddingVendor) => vendor.wire?.sends(`<html>${vendorWords}`)]
  ] as const) {
    test(`MUST fail, and not with a defect, on an answer with ${what}`, () =>
      Effect.gen(function* () {
        const vendor = yield* open
        if (vendor.wire === undefined) return
        answer(vendor)
        const on = `on an answer with ${what}`
        expectFields(on, yield* expectFailure(on, () => embed(vendor)), { provider: "vendor" })
      }))
  }

  test("MUST close the connection when it is interrupted", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      yield* checks.expectClosed(vendor.hangs(), () => embed(vendor))
    }))
}

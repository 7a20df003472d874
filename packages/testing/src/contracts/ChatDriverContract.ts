/**
 * The contract of `ChatDriver` and `ChatEvent`, in the terms of the port. The suite calls a driver only through the port, and controls the
 * provider behind it (a server that speaks the provider's wire) through `ChatVendor`.
 */
import {
  type ChatDriver,
  type ChatEvent,
  type ChatRequest,
  type ContentPart,
  describeModel,
  type ModelError
} from "@colloquy/core/adapters"
import { describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import {
  answersInWords,
  answersWithCalls,
  type ChatAnswer,
  type ChatScenario,
  type HeardAnswer,
  picture,
  refusalReasons,
  requestOptions,
  type Said,
  sentAnywhere,
  sentInOrder,
  unfinishedAnswers,
  usageFields,
  wholeRequest
} from "./ChatScenarios.ts"
import { asTest, driverChecks, type TakeCase, usualPatience, vendorWords } from "./DriverChecks.ts"
import { shown } from "./PartSteps.ts"

/** A driver with a vendor that plays what a test tells it. */
export interface ChatVendor {
  /** With the host's key `sk-of-the-host`. */
  readonly driver: ChatDriver
  readonly model: string
  /** Each call answers one request, in the order of the calls. The text of a refusal contains `sk-of-the-host` and `a secret`. */
  readonly answers: (answer: ChatAnswer) => void
  /** Says this and then nothing more. `left` completes when the connection is closed. */
  readonly hangs: (says: ReadonlyArray<Said>) => {
    readonly asked: Effect.Effect<void>
    readonly left: Effect.Effect<void>
  }
  /** How many requests have arrived. */
  readonly requests: () => number
  /** All requests as values of JSON: the body, and the address if that names the model. The suite looks for its texts in them. */
  readonly seen: () => ReadonlyArray<unknown>
  /** What `reasoning` has on this wire that the provider needs back with the answer, such as a signature. Absent: nothing. */
  readonly needsBack?: string
  /** Absent: the driver has no wire, as a scripted model. */
  readonly wire?: {
    /** The headers with the keys of all requests. */
    readonly keys: () => ReadonlyArray<string>
    /** Answers one request with status 200 and this body. */
    readonly sends: (contentType: string, body: string) => void
    /** Writes one line without an end. Absent: a library of the host reads the wire. */
    readonly neverEnds?: () => void
  }
}

/** What the vendor cannot do, each with its reason. */
export interface ChatSuiteOptions {
  /**
   * Names of scenarios that the wire cannot express, of `toolChoice`, `maxOutputTokens`, `jsonOutput`, `sampling` and `thinking` where it has
   * no such option, and `pictures` where it takes none as base64; `streaming` where the provider answers as a whole, and `usage` where it tells
   * none.
   */
  readonly cannot?: { readonly [scenario: string]: string }
}

const provider = "vendor"

/** A request of which nothing but a question is known. */
const requestTo = ({ model }: ChatVendor, fields: Partial<ChatRequest> = {}): ChatRequest => ({
  provider,
  model,
  info: describeModel({ name: model, provider, modelType: "llm" }),
  system: null,
  tools: [],
  toolChoice: "auto",
  messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
  thinking: null,
  routing: null,
  jsonOutput: false,
  maxOutputTokens: null,
  apiKey: null,
  conversationId: "conversation-1",
  ...fields
})

const heardIn = (events: ReadonlyArray<ChatEvent>, error: ModelError | null): HeardAnswer => {
  const kinds: Array<"text" | "reasoning"> = []
  for (const event of events) {
    if ((event._tag !== "TextDelta" && event._tag !== "ReasoningDelta") || event.text === "") continue
    const kind = event._tag === "TextDelta" ? "text" : "reasoning"
    if (kinds.at(-1) !== kind) kinds.push(kind)
  }
  const all = <Tag extends ChatEvent["_tag"]>(tag: Tag) =>
    events.filter((event): event is Extract<ChatEvent, { _tag: Tag }> => event._tag === tag)
  const usage = all("Usage").at(-1)?.usage
  return {
    text: all("TextDelta")
      .map(({ text }) => text)
      .join(""),
    reasoning: all("ReasoningDelta")
      .map(({ text }) => text)
      .join(""),
    kinds,
    calls: all("ToolCallReady").map(({ call: { arguments: args, name } }) => ({ name, arguments: args })),
    finish: all("Finished").at(-1)?.reason ?? null,
    ...(usage === undefined ? { usage: null, usageDetails: null } : usageFields(usage)),
    model: all("Finished").at(-1)?.model ?? null,
    error: error?.reason ?? null
  }
}

const done: ChatAnswer = { says: [{ text: "Hi" }, { finish: "stop", usage: null }] }

/** What every driver of conversation models must do. */
export const chatDriverSuite = (
  name: string,
  open: Effect.Effect<ChatVendor, never, Scope.Scope>,
  options: ChatSuiteOptions = {}
): void => {
  describe(`the contract of ChatDriver: ${name}`, () => chatDriverCases(asTest, open, options))
}

/** Its cases; `patience`: how many milliseconds a driver may take. */
export const chatDriverCases = (
  test: TakeCase,
  open: Effect.Effect<ChatVendor, never, Scope.Scope>,
  { cannot = {} }: ChatSuiteOptions = {},
  patience = usualPatience
): void => {
  const checks = driverChecks("driver", patience)
  const { ask, expectFields, expectQuiet, expectRequests, fault, within } = checks

  /** The events of one request in their order, and its failure if there is one. */
  const listen = Effect.fnUntraced(function* (vendor: ChatVendor, on: string, fields?: Partial<ChatRequest>) {
    const events: Array<ChatEvent> = []
    const run = () =>
      Stream.runForEach(vendor.driver(requestTo(vendor, fields)), (event) => Effect.sync(() => events.push(event)))
    const result = yield* Effect.result(ask(on, run, "end when the provider has ended"))
    const error = Result.isFailure(result) ? result.failure : null
    if (error !== null && error._tag !== "ModelError")
      fault(`failed with ${shown(error)} ${on}`, "fail with a `ModelError`")
    expectQuiet(error, on)
    return { events, error }
  })

  /** What `ChatEvent` promises about order. */
  const expectOrder = (events: ReadonlyArray<ChatEvent>): void => {
    const written = new Map<string, { readonly name: string; readonly text: string }>()
    const ready = new Set<string>()
    const must =
      "tell `ToolCallStart`, its deltas, and `ToolCallReady` once, with the same name and the whole arguments"
    events.forEach((event, index) => {
      if (event._tag === "Finished" && index < events.length - 1)
        fault(`told \`${events[index + 1]?._tag}\` after \`Finished\``, "tell `Finished` once and last")
      if (event._tag === "ToolCallStart") {
        if (written.has(event.id)) fault(`told the start of the call "${event.id}" twice`, must)
        written.set(event.id, { name: event.name, text: "" })
      }
      if (event._tag === "ToolCallDelta") {
        if (ready.has(event.id)) fault(`told a delta of the call "${event.id}" after the call was ready`, must)
        const begun = written.get(event.id) ?? fault(`told a delta of the call "${event.id}" before its start`, must)
        written.set(event.id, { ...begun, text: begun.text + event.arguments })
      }
      if (event._tag !== "ToolCallReady") return
      const { arguments: whole, id, name } = event.call
      if (ready.has(id)) fault(`told twice that the call "${id}" is ready`, must)
      ready.add(id)
      const begun = written.get(id) ?? fault(`told that the call "${id}" is ready, and not its start`, must)
      if (name !== begun.name) fault(`named the tool "${begun.name}" at the start of a call of "${name}"`, must)
      // A call may have no deltas.
      if (begun.text !== "" && whole !== begun.text)
        fault(`told the deltas ${shown(begun.text)} of a call with the arguments ${shown(whole)}`, must)
    })
  }

  const play = Effect.fnUntraced(function* (vendor: ChatVendor, scenario: ChatScenario) {
    const on = `on the answer "${scenario.name}"`
    vendor.answers(scenario.answer)
    const { error, events } = yield* listen(vendor, on, scenario.request)
    expectOrder(events)
    const heard = heardIn(events, error)
    const { usage, usageDetails, ...wanted } = scenario.heard
    expectFields(on, heard, {
      ...wanted,
      ...(usage === undefined || cannot["usage"] !== undefined ? {} : { usage }),
      ...(usageDetails === undefined || cannot["usage"] !== undefined ? {} : { usageDetails }),
      // Of an answer that comes as a whole, nothing is heard before its end.
      ...(cannot["streaming"] !== undefined && wanted.finish === null && heard.text === "" ? { text: "" } : {})
    })
    expectRequests(vendor.requests())
    return { events, heard }
  })

  /** The bodies of these requests, each of which is answered. */
  const sentBodies = Effect.fnUntraced(function* (
    vendor: ChatVendor,
    ...requests: ReadonlyArray<Partial<ChatRequest>>
  ) {
    for (const fields of requests) {
      vendor.answers(done)
      const { error } = yield* listen(vendor, "on an answer in words", fields)
      if (error !== null) fault(`failed with \`${error.reason}\` on an answer in words`, "tell it")
    }
    return vendor.seen().slice(-requests.length)
  })

  const possible = (scenarios: ReadonlyArray<ChatScenario>) =>
    scenarios.filter(({ name }) => cannot[name] === undefined)

  for (const scenario of possible(answersInWords)) {
    test(`MUST tell ${scenario.name}`, () =>
      Effect.gen(function* () {
        yield* play(yield* open, scenario)
      }))
  }

  for (const scenario of possible(answersWithCalls)) {
    test(`MUST tell ${scenario.name}, from its start to the whole arguments`, () =>
      Effect.gen(function* () {
        yield* play(yield* open, scenario)
      }))
  }

  for (const scenario of possible(unfinishedAnswers)) {
    test(`MUST NOT finish an answer that ${scenario.name}`, () =>
      Effect.gen(function* () {
        const { heard } = yield* play(yield* open, scenario)
        const { error } = heard
        if (error === null || ["connection", "cut_off", "malformed", "overloaded"].includes(error)) return
        const must = "fail with `cut_off`, `connection` or `malformed`, or end"
        fault(`failed with \`${error}\` on an answer that ${scenario.name}`, must)
      }))
  }

  test("MUST send every text of the prompt, those of messages in their order", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      const [body] = yield* sentBodies(vendor, wholeRequest)
      checks.expectSent(body, sentInOrder, [["the name of the model", vendor.model], ...sentAnywhere])
    }))

  for (const { fields, option, without } of requestOptions) {
    if (cannot[option] !== undefined) continue
    test(`MUST tell the provider \`${option}\``, () =>
      Effect.gen(function* () {
        const bodies = yield* sentBodies(yield* open, without, { ...without, ...fields })
        checks.expectOption(option, fields[option], bodies[0], bodies[1])
      }))
  }

  if (cannot["pictures"] === undefined)
    test("MUST send a picture between the texts of its message", () =>
      Effect.gen(function* () {
        const content: ReadonlyArray<ContentPart> = [
          { type: "text", text: "Look at this:" },
          { type: "image", mediaType: "image/png", filename: null, source: { bytes: picture.bytes } },
          { type: "text", text: "What is it?" }
        ]
        const [body] = yield* sentBodies(yield* open, { messages: [{ role: "user", content }] })
        checks.expectSent(body, [
          ["the text before a picture", "Look at this:"],
          ["the bytes of a picture", picture.base64],
          ["the text after a picture", "What is it?"]
        ])
      }))

  test("MUST send back what the provider needs back with its answer, and nothing of another provider", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      const { needsBack } = vendor
      if (needsBack === undefined) return
      vendor.answers({ says: [{ reasoning: "Hm." }, { text: "Yes." }, { finish: "stop", usage: null }] })
      const { events } = yield* listen(vendor, "on an answer with reasoning", { thinking: {} })
      const [data = null] = events.flatMap((event) => (event._tag === "Finished" ? [event.providerData] : []))
      const must = "tell in `providerData` what the provider needs back, and send it only to the same provider"
      if (data === null) return fault("told no `providerData` with an answer that has some", must)
      const answeredBy = (by: string): Partial<ChatRequest> => ({
        messages: [
          ...requestTo(vendor).messages,
          { role: "assistant", content: "Yes.", toolCalls: [], providerData: { provider: by, data } },
          ...requestTo(vendor).messages
        ],
        thinking: {}
      })
      const bodies = yield* sentBodies(vendor, answeredBy(provider), answeredBy("another"))
      const [own, foreign] = bodies.map((body) => JSON.stringify(body).includes(needsBack))
      if (own !== true) fault(`did not send back ${shown(needsBack)} with the answer that had it`, must)
      if (foreign === true) fault("sent `providerData` of another provider", must)
    }))

  test("MUST ask once for each run of its stream, and not before", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      const stream = vendor.driver(requestTo(vendor))
      if (vendor.requests() > 0) fault("asked before its stream ran", "ask when its stream is run")
      for (const calls of [1, 2]) {
        vendor.answers(done)
        yield* ask("on an answer in words", () => Stream.runDrain(stream))
        expectRequests(vendor.requests(), calls)
      }
    }))

  for (const reason of refusalReasons) {
    test(`MUST fail with ${reason} when the provider says so, after one request, without any text of the provider`, () =>
      Effect.gen(function* () {
        const vendor = yield* open
        const on = `on a refusal for the reason ${reason}`
        vendor.answers({ refusesWith: reason, headers: { "retry-after": "7" } })
        const { error, events } = yield* listen(vendor, on)
        expectRequests(vendor.requests())
        const must = "fail with a `ModelError` and tell nothing"
        if (error === null || events.length > 0) return fault(`told ${shown(events)} ${on}`, must)
        expectFields(on, error, { reason, provider, model: vendor.model })
        if (vendor.wire === undefined) return
        expectFields(on, error, { retryAfterMillis: 7000 })
        if (!Number.isInteger(error.status)) fault(`told no \`status\` in its error ${on}`, "tell the status of HTTP")
      }))
  }

  test("MUST close the connection when it is interrupted before the first event", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      yield* checks.expectClosed(vendor.hangs([]), () => Stream.runDrain(vendor.driver(requestTo(vendor))))
    }))

  if (cannot["streaming"] === undefined)
    test("MUST close the connection when its events are not read to the end", () =>
      Effect.gen(function* () {
        const vendor = yield* open
        const { left } = vendor.hangs([{ text: "a" }, { text: "b" }])
        let text = ""
        const untilBoth = Stream.takeUntil(vendor.driver(requestTo(vendor)), (event) => {
          if (event._tag === "TextDelta") text += event.text
          return text.length >= 2
        })
        yield* within(
          Stream.runDrain(untilBoth),
          "did not tell the first words of an answer that goes on",
          'tell words as they come; if the provider answers as a whole, name "streaming" with the reason in `cannot` of the suite'
        )
        expectFields("on an answer that goes on", { text }, { text: "ab" })
        yield* within(left, "did not close its connection after the reader had stopped", "close it at once")
      }))

  test("MUST ask with the customer's own key if there is one", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      if (vendor.wire === undefined) return
      yield* sentBodies(vendor, {}, { apiKey: Redacted.make("sk-of-the-customer") })
      checks.expectKeys(vendor.wire.keys())
    }))

  for (const [what, contentType, body] of [
    ["a page of HTML with 200", "text/html", `<html>${vendorWords}</html>`],
    [
      "JSON of another kind",
      "application/json",
      `{"choices":7,"content":{"a":[1]},"candidates":"x","output":[null],"message":"${vendorWords}"}`
    ],
    [
      "events of another kind",
      "text/event-stream",
      `data: 7\n\ndata: {"choices":[null],"type":[],"candidates":[7],"message":"${vendorWords}"}\n\n`
    ],
    ["events that are no JSON", "text/event-stream", `data: {${vendorWords}\n\ndata: \ud800\n\n`],
    ["an empty body", "text/event-stream", ""]
  ] as const) {
    test(`MUST NOT finish, and not fail with a defect, on ${what}`, () =>
      Effect.gen(function* () {
        const vendor = yield* open
        if (vendor.wire === undefined) return
        vendor.wire.sends(contentType, body)
        const { events } = yield* listen(vendor, `on ${what}`)
        if (events.some(({ _tag }) => _tag === "Finished"))
          fault(`told \`Finished\` on ${what}`, "tell it only if the provider really finished")
      }))
  }

  test("MUST fail on a line without an end", () =>
    Effect.gen(function* () {
      const vendor = yield* open
      if (vendor.wire?.neverEnds === undefined) return
      vendor.wire.neverEnds()
      const { error } = yield* listen(vendor, "on a line without an end")
      if (error === null) fault("did not fail on a line without an end", "buffer a bounded amount")
    }))
}

/**
 * Cassettes: what a provider said over the network is heard again from the file by the same driver, event by event; what must not be kept is
 * not in the file; and what was not recorded is refused with the difference.
 */
import { assert, describe, it } from "@effect/vitest"
import type { ChatEvent, ChatRequest } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Cassette } from "@colloquy/testing"
import * as FakeVendor from "./FakeVendor.ts"
import type { Said } from "@colloquy/testing/contracts"
import { request } from "./Scenarios.ts"
import { type Vendor, vendors } from "./Vendors.ts"

const key = "sk-of-the-host-1234567890"
const answer: ReadonlyArray<Said> = [{ text: "Grüß " }, { text: "dich 🦡." }, { finish: "stop", usage: null }]

const scratch = Effect.map(
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "colloquy-cassette-"))),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
  ),
  (folder) => join(folder, "deep", "exchange.json")
)

const textOf = (file: string) => Effect.promise(() => readFile(file, "utf8"))

/** Everything that a driver says to a request, its failure included. */
const hear = (vendor: Vendor, server: string, fetch: typeof globalThis.fetch, asked: Partial<ChatRequest> = {}) =>
  Effect.gen(function* () {
    const provider = vendor.provider({ server, apiKey: Redacted.make(key), fetch })
    const events: Array<ChatEvent> = []
    if (provider.chat === undefined) return { events, failure: "no chat" }
    const heard = Stream.runForEach(provider.chat(request(provider.id, asked)), (event) =>
      Effect.sync(() => void events.push(event))
    )
    const result = yield* Effect.result(heard)
    return { events, failure: Result.isFailure(result) ? result.failure.reason : null }
  })

const question = (text: string): Partial<ChatRequest> => ({
  messages: [{ role: "user", content: [{ type: "text", text }] }]
})

const closing = (cassette: Cassette.Cassette) =>
  Effect.promise(() =>
    cassette.close().then(
      () => "",
      (error: unknown) => String(error)
    )
  )

const bytesIn = (text: string, size: number): ReadonlyArray<Uint8Array> => {
  const bytes = new TextEncoder().encode(text)
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size)
  )
}

const openAiVendor = vendors[0] ?? assert.fail("There is no vendor.")

/** Records a conversation with a fake vendor. */
const recorded = Effect.fnUntraced(function* (
  file: string,
  vendor: Vendor,
  replies: ReadonlyArray<FakeVendor.Reply>,
  asked: ReadonlyArray<Partial<ChatRequest>>,
  options: Cassette.CassetteOptions = {}
) {
  const fake = yield* FakeVendor.make
  fake.script(vendor.path, ...replies)
  const cassette = yield* Effect.promise(() => Cassette.record(file, options))
  const heard = yield* Effect.forEach(asked, (each) => hear(vendor, fake.baseUrl, cassette.fetch, each))
  assert.strictEqual(yield* closing(cassette), "")
  return heard
})

/** Nothing listens there. */
const nobody = "http://127.0.0.1:9"

describe("a cassette", () => {
  it.live.each(vendors.map((vendor) => [vendor.name, vendor] as const))(
    "of %s is heard by the same driver as the network was, without a network and without the key",
    ([, vendor]) =>
      Effect.gen(function* () {
        const file = yield* scratch
        const frames = bytesIn(vendor.render(answer).join(""), 7)
        const live = yield* recorded(file, vendor, [FakeVendor.sse(frames)], [{}])
        assert.strictEqual(live[0]?.failure, null)
        assert.isAbove(live[0]?.events.length ?? 0, 2)
        assert.notInclude(yield* textOf(file), "of-the-host")

        const cassette = yield* Effect.promise(() => Cassette.replay(file))
        assert.deepStrictEqual([yield* hear(vendor, nobody, cassette.fetch)], live)
        assert.strictEqual(yield* closing(cassette), "")
      }).pipe(Effect.scoped)
  )

  it.live("keeps the pieces as the network cut them, inside of characters too", () =>
    Effect.gen(function* () {
      const file = yield* scratch
      const fake = yield* FakeVendor.make
      const gates = [new FakeVendor.Gate(), new FakeVendor.Gate()] as const
      const badger = new TextEncoder().encode("🦡")
      fake.script("/x", {
        headers: { "content-type": "text/plain" },
        body: ["one\ntwo", gates[0], badger.subarray(0, 2), gates[1], badger.subarray(2)]
      })
      const read = async (fetch: typeof globalThis.fetch, server: string, heard: (index: number) => void) => {
        const pieces: Array<Uint8Array> = []
        const response = await fetch(`${server}/x`, { method: "POST", body: "{}" })
        for await (const piece of response.body ?? []) {
          pieces.push(piece)
          heard(pieces.length)
        }
        return pieces.map((piece) => [...piece])
      }
      const recording = yield* Effect.promise(() => Cassette.record(file))
      const live = yield* Effect.promise(() =>
        read(recording.fetch, fake.baseUrl, (count) => gates[count - 1 === 0 ? 0 : 1].open())
      )
      assert.lengthOf(live, 3)
      assert.strictEqual(yield* closing(recording), "")
      const cassette = yield* Effect.promise(() => Cassette.replay(file))
      assert.deepStrictEqual(yield* Effect.promise(() => read(cassette.fetch, nobody, () => {})), live)
      const [exchange] = JSON.parse(yield* textOf(file)).exchanges
      assert.deepStrictEqual(exchange.answer.pieces, [["one", "two"], { base64: "8J8=" }, { base64: "pqE=" }])
    }).pipe(Effect.scoped)
  )

  it.live(
    "holds several exchanges, errors and broken connections among them, and gives equal requests their answers in order",
    () =>
      Effect.gen(function* () {
        const file = yield* scratch
        const { body, status } = openAiVendor.refuse("auth")
        const replies = [
          FakeVendor.sse(openAiVendor.render([{ text: "First." }, { finish: "stop", usage: null }])),
          FakeVendor.sse(openAiVendor.render([{ text: "Second." }, { finish: "stop", usage: null }])),
          FakeVendor.json(body, status),
          FakeVendor.sse([...openAiVendor.render([{ text: "Half" }]), FakeVendor.closed])
        ]
        const asked = [question("Same"), question("Same"), question("Refused"), question("Broken")]
        const live = yield* recorded(file, openAiVendor, replies, asked)
        assert.deepStrictEqual(
          live.map(({ failure }) => failure),
          [null, null, "auth", "cut_off"]
        )
        const cassette = yield* Effect.promise(() => Cassette.replay(file))
        const again = yield* Effect.forEach(asked, (each) => hear(openAiVendor, nobody, cassette.fetch, each))
        assert.deepStrictEqual(again, live)
        assert.strictEqual(yield* closing(cassette), "")
      }).pipe(Effect.scoped)
  )

  it.live("is whole when the driver has left an answer before its end", () =>
    Effect.gen(function* () {
      const file = yield* scratch
      const fake = yield* FakeVendor.make
      const gate = new FakeVendor.Gate()
      fake.script(openAiVendor.path, FakeVendor.sse([...openAiVendor.render([{ text: "Begun" }]), gate]))
      const cassette = yield* Effect.promise(() => Cassette.record(file))
      const provider = openAiVendor.provider({ server: fake.baseUrl, fetch: cassette.fetch })
      const chat = provider.chat ?? assert.fail("no chat")
      yield* Stream.runDrain(Stream.takeUntil(chat(request(provider.id)), ({ _tag }) => _tag === "TextDelta"))
      assert.strictEqual(yield* closing(cassette), "")
      const [exchange] = JSON.parse(yield* textOf(file)).exchanges
      assert.strictEqual(exchange.answer.ending, "left")
      assert.include(JSON.stringify(exchange.answer.pieces), "Begun")
    }).pipe(Effect.scoped)
  )

  it.live("refuses what was not recorded with the difference in words, at once and when it is closed", () =>
    Effect.gen(function* () {
      const file = yield* scratch
      const reply = FakeVendor.sse(openAiVendor.render(answer))
      yield* recorded(file, openAiVendor, [reply], [{ ...question("What is a badger?"), maxOutputTokens: 100 }])
      const cassette = yield* Effect.promise(() => Cassette.replay(file))
      const heard = yield* hear(openAiVendor, nobody, cassette.fetch, question("What is a fox?"))
      assert.deepStrictEqual(heard, { events: [], failure: "invalid_request" })
      const told = yield* closing(cassette)
      for (const words of [
        "What is a badger?",
        "What is a fox?",
        "when it was recorded, and is",
        "is missing; it was 100",
        "The recorded request POST"
      ]) {
        assert.include(told, words)
      }
      const response = yield* Effect.promise(async () =>
        (await cassette.fetch(`${nobody}/other?x=1`, { method: "POST", body: '{"a":[1]}' })).json()
      )
      assert.include(JSON.stringify(response), "the path was")
      assert.include(JSON.stringify(response), "`a` is new: [1]")
    }).pipe(Effect.scoped)
  )

  it.live("one that was used up says so", () =>
    Effect.gen(function* () {
      const file = yield* scratch
      yield* recorded(file, openAiVendor, [FakeVendor.sse(openAiVendor.render(answer))], [{}])
      const cassette = yield* Effect.promise(() => Cassette.replay(file))
      yield* hear(openAiVendor, nobody, cassette.fetch)
      yield* hear(openAiVendor, nobody, cassette.fetch)
      assert.include(yield* closing(cassette), "all recorded requests have been used")
    }).pipe(Effect.scoped)
  )
})

describe("redaction", () => {
  const exchange = Effect.fnUntraced(function* (
    reply: FakeVendor.Reply,
    path: string,
    init: RequestInit,
    personal: ReadonlyArray<string> = []
  ) {
    const file = yield* scratch
    const fake = yield* FakeVendor.make
    fake.script(path, reply)
    const cassette = yield* Effect.promise(() => Cassette.record(file, { personal }))
    yield* Effect.promise(async () => (await cassette.fetch(fake.baseUrl + path, init)).text())
    assert.strictEqual(yield* closing(cassette), "")
    const text = yield* textOf(file)
    const replayed = yield* Effect.promise(() => Cassette.replay(file, { personal }))
    const again = yield* Effect.promise(async () => (await replayed.fetch(nobody + path, init)).text())
    assert.strictEqual(yield* closing(replayed), "", "what is redacted is still recognized")
    return { text, again }
  })

  it.live("keys are gone from headers, from the address, and from wherever else they stand", () =>
    Effect.gen(function* () {
      const reply = FakeVendor.json(
        { error: `Incorrect key: query-secret-42 of cookie-value-77`, echo: "header-secret-41" },
        401,
        { "set-cookie": "session=cookie-value-77", "openai-organization": "org-of-ada-lovelace" }
      )
      const { again, text } = yield* exchange(reply, "/v1/models?key=query-secret-42&page=2", {
        method: "POST",
        headers: { "x-goog-api-key": "header-secret-41", authorization: "Bearer bearer-secret-40" },
        body: JSON.stringify({ note: "bearer-secret-40", api_key: "body-secret-43", again: "body-secret-43" })
      })
      for (const secret of ["secret-4", "cookie-value", "org-of-ada"]) assert.notInclude(text, secret)
      assert.include(text, "page=2")
      assert.include(text, '"authorization": "[redacted]"')
      assert.include(again, "Incorrect key: [redacted]")
    }).pipe(Effect.scoped)
  )

  it.live("keys are known by their form, and words that only sound alike are kept", () =>
    Effect.gen(function* () {
      const body = {
        text: "use sk-abcdefghijklmnop or AIzaSyA1234567890abcdefghij_-k",
        max_tokens: 12,
        logprobs: [{ token: "Hello" }]
      }
      const { text } = yield* exchange(FakeVendor.json({}), "/x", { method: "POST", body: JSON.stringify(body) })
      assert.notInclude(text, "abcdefghij")
      assert.include(text, '"token": "Hello"')
      assert.include(text, '"max_tokens": 12')
    }).pipe(Effect.scoped)
  )

  it.live(
    "addresses of e-mail and names are gone from requests and answers, in any case and any spelling of JSON",
    () =>
      Effect.gen(function* () {
        const asked = { text: "I am Zoë Müller.\nada.lovelace+x@mail.example.org wrote; ZOË MÜLLER read." }
        const said = String.raw`{"text":"Dear Zo\u00eb M\u00fcller,\nada.lovelace+x@mail.example.org\u00e9 and \nbob@example.com"}`
        const { again, text } = yield* exchange(
          FakeVendor.json(said),
          "/x?for=ada.lovelace%40mail.example.org",
          { method: "POST", body: JSON.stringify(asked) },
          ["Zoë Müller"]
        )
        for (const person of ["Zo", "ller", "lovelace", "bob@", "ZO"]) assert.notInclude(text, person)
        assert.include(text, "I am [personal 1].")
        const { text: read } = JSON.parse(again)
        assert.match(read, /^Dear \[personal 1\],\nredacted@example\.invalid/u)
      }).pipe(Effect.scoped)
  )

  it.live.each(vendors.map((vendor) => [vendor.name, vendor] as const))(
    "of a stream of %s finds what comes in pieces, of the network and of the model",
    ([, vendor]) =>
      Effect.gen(function* () {
        const file = yield* scratch
        const says: ReadonlyArray<Said> = [
          { text: "Write to ada@" },
          { text: "exam" },
          { text: "ple.org, says Grace Ho" },
          { text: "pper." },
          { finish: "stop", usage: null }
        ]
        const personal = ["Grace Hopper"]
        const reply = FakeVendor.sse(bytesIn(vendor.render(says).join(""), 11))
        const [live] = yield* recorded(file, vendor, [reply], [{}], { personal })
        assert.strictEqual(live?.failure, null)
        const text = yield* textOf(file)
        for (const trace of ["ada@", "ple.org", "Grace", "pper"]) assert.notInclude(text, trace)
        const cassette = yield* Effect.promise(() => Cassette.replay(file, { personal }))
        const { events, failure } = yield* hear(vendor, nobody, cassette.fetch)
        const said = events.map((event) => (event._tag === "TextDelta" ? event.text : "")).join("")
        assert.deepStrictEqual([said, failure], ["Write to redacted@example.invalid, says [personal 1].", null])
      }).pipe(Effect.scoped)
  )
})

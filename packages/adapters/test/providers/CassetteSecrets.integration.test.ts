/**
 * What must not be in a cassette, in the places where it is easily overlooked; and what must not be taken for it, because the replayed answer
 * would be another one. Every case is recorded over a real connection, and replayed from the file.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Cassette } from "@colloquy/testing"
import * as FakeVendor from "./FakeVendor.ts"

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "colloquy-cassette-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

interface Exchange {
  readonly path?: string
  readonly asked?: RequestInit
  readonly reply?: FakeVendor.Reply
  /** Recorded where nobody listens. */
  readonly isRefused?: true
}

/** Nothing listens there. */
const nobody = "http://127.0.0.1:9"

const post = (body: string, headers: Readonly<Record<string, string>> = {}): RequestInit => ({
  method: "POST",
  body,
  headers
})
const postJson = (body: unknown): RequestInit => post(JSON.stringify(body), { "content-type": "application/json" })

const heard = async (fetch: typeof globalThis.fetch, server: string, { asked, path = "/x" }: Exchange) => {
  try {
    const response = await fetch(server + path, asked)
    return { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) }
  } catch (error) {
    return { failure: error instanceof Error ? error.name : "" }
  }
}

const closing = (cassette: Cassette.Cassette): Promise<string> => cassette.close().then(() => "", String)

/** Records some exchanges, replays them (with other requests, where these are given), and shows the file and what was heard at both times. */
const session = Effect.fnUntraced(function* (
  exchanges: ReadonlyArray<Exchange>,
  personal: ReadonlyArray<string> = [],
  again: ReadonlyArray<Exchange> = exchanges
) {
  const file = join(yield* folder, "exchange.json")
  const fake = yield* FakeVendor.make
  for (const { path = "/x", reply = FakeVendor.json({}) } of exchanges) fake.script(path, reply)
  return yield* Effect.promise(async () => {
    const recording = await Cassette.record(file, { personal })
    const live: Array<Awaited<ReturnType<typeof heard>>> = []
    for (const each of exchanges)
      live.push(await heard(recording.fetch, each.isRefused === true ? nobody : fake.baseUrl, each))
    assert.strictEqual(await closing(recording), "")
    const replaying = await Cassette.replay(file, { personal })
    const replayed: typeof live = []
    for (const each of again) replayed.push(await heard(replaying.fetch, nobody, each))
    return { text: await readFile(file, "utf8"), live, replayed, told: await closing(replaying) }
  })
})

const basic = `Basic ${Buffer.from("ada:pass-word-77").toString("base64")}`

const form = () => {
  const data = new FormData()
  data.set("model", "scribe")
  data.set("api_key", "form-secret-92")
  data.set("speaker", "Grace Hopper")
  data.set("file", new Blob([new Uint8Array([0xff, 0xfe, 0, 0xc3])]), "sound.wav")
  return { method: "POST", body: data }
}

interface Hidden {
  readonly what: string
  readonly exchanges: ReadonlyArray<Exchange>
  readonly personal?: ReadonlyArray<string>
  readonly traces: ReadonlyArray<string>
}

const hiddenThings: ReadonlyArray<Hidden> = [
  {
    what: "a key that an answer tells before the header with it is sent",
    exchanges: [
      { reply: FakeVendor.json({ note: "Your ticket is zeta-999-omega." }) },
      { asked: { headers: { authorization: "Bearer zeta-999-omega" } } }
    ],
    traces: ["zeta-999"]
  },
  {
    what: "a key at the beginning of a line of a text in JSON",
    exchanges: [{ asked: postJson({ text: "My key:\nsk-abcdefghijklmnop\tAIzaSyA1234567890abcdefghij" }) }],
    traces: ["abcdefghij"]
  },
  {
    what: "the ends of a key that a vendor shows of it",
    exchanges: [{ reply: FakeVendor.json({ error: "Incorrect API key provided: sk-proj-*************wxyz." }, 401) }],
    traces: ["wxyz"]
  },
  {
    what: "a password inside of a header in base64",
    exchanges: [{ asked: { headers: { authorization: basic } }, reply: FakeVendor.json({ echo: "pass-word-77" }) }],
    traces: ["pass-word", basic.slice(6)]
  },
  {
    what: "keys in the fields of a form",
    exchanges: [
      {
        asked: post("client_secret=form%2Dsecret-91&scope=all", { "content-type": "application/x-www-form-urlencoded" })
      },
      { asked: form(), reply: FakeVendor.json({ echo: "form-secret-92" }) }
    ],
    personal: ["Grace Hopper"],
    traces: ["secret-9", "Hopper"]
  },
  {
    what: "a cookie in quotes",
    exchanges: [
      { reply: FakeVendor.json({ echo: "It is v1-cookie-88." }, 200, { "set-cookie": 'session="v1-cookie-88"' }) }
    ],
    traces: ["cookie-88"]
  },
  {
    what: "addresses with letters of other alphabets, as they are and as JSON escapes them",
    exchanges: [
      { asked: postJson({ text: "josé@example.com, анна@example.org" }) },
      { asked: post(String.raw`{"text":"jos\u00e9@example.com and\n\u00e9lodie.b@example.org"}`) }
    ],
    traces: ["jos", "анна", "example.com", "example.org", "lodie"]
  },
  {
    what: "a name behind a backslash, and one whose letters are put together otherwise",
    exchanges: [
      { asked: postJson({ path: "C:\\Users\\Ada Lovelace\\notes.txt", text: "Zoë Müller".normalize("NFD") }) },
      { asked: post("C:\\Users\\Ada Lovelace", { "content-type": "text/plain" }) }
    ],
    personal: ["Ada Lovelace", "Zoë Müller"],
    traces: ["Lovelace", "Zoe", "ller"]
  },
  {
    what: "a name in an answer that was left inside of a character",
    exchanges: [
      {
        reply: {
          headers: { "content-type": "application/octet-stream" },
          body: ["Ada Lovelace ", new Uint8Array([0xf0, 0x9f])]
        }
      }
    ],
    personal: ["Ada Lovelace"],
    traces: ["Lovelace"]
  }
]

describe("a cassette does not hold", () => {
  it.live.each(hiddenThings.map((each) => [each.what, each] as const))("%s", ([, { exchanges, personal, traces }]) =>
    Effect.gen(function* () {
      const { told, text } = yield* session(exchanges, personal)
      for (const trace of traces) assert.notInclude(text, trace)
      assert.strictEqual(told, "", "what is redacted is still recognized")
    }).pipe(Effect.scoped)
  )
})

describe("a cassette keeps as it is", () => {
  it.live("a sound or a picture, whatever its bytes look like, also as base64 in JSON", () =>
    Effect.gen(function* () {
      const bytes = Buffer.concat([Buffer.from([0xff, 0xd8, 0]), Buffer.from("a@b.cd Ada"), Buffer.from([0x80, 0xff])])
      const picture = `${"QUJD".repeat(20)}Ada${"ZZZ0".repeat(20)}`
      const { live, replayed, told } = yield* session(
        [
          { reply: { headers: { "content-type": "image/jpeg" }, body: [bytes.subarray(0, 5), bytes.subarray(5)] } },
          { path: "/y", reply: FakeVendor.json({ b64_json: picture, text: "fine" }) }
        ],
        ["Ada"]
      )
      assert.deepStrictEqual(replayed, live)
      assert.strictEqual(told, "")
    }).pipe(Effect.scoped)
  )

  it.live("numbers and words of a body that a header counts or names, too", () =>
    Effect.gen(function* () {
      const headers = {
        "anthropic-priority-input-tokens-limit": "1000000",
        "x-amzn-bedrock-input-token-count": "123456",
        "set-cookie": "tier=default; Path=/"
      }
      const { live, replayed } = yield* session([
        { reply: FakeVendor.json({ limit: 1_000_000, used: 123_456, service_tier: "default" }, 200, headers) }
      ])
      assert.deepStrictEqual(replayed, live)
    }).pipe(Effect.scoped)
  )
})

describe("a replayed cassette", () => {
  it.live("fits a request whose fields stand in another order, and whose form has another boundary", () =>
    Effect.gen(function* () {
      const { told } = yield* session(
        [{ asked: postJson({ a: 1, b: { c: [0], d: 2 } }) }, { asked: form() }],
        ["Grace Hopper"],
        [{ asked: postJson({ b: { d: 2, c: [-0] }, a: 1 }) }, { asked: form() }]
      )
      assert.strictEqual(told, "")
    }).pipe(Effect.scoped)
  )

  it.live("fits whatever key it is asked with, also one whose words stand in the request", () =>
    Effect.gen(function* () {
      const asked = (key: string): Exchange => ({
        asked: { ...postJson({ text: "An umbrella is not needed." }), headers: { "x-api-key": key } }
      })
      const { told } = yield* session([asked("key-of-the-host-1")], [], [asked("not needed")])
      assert.strictEqual(told, "")
    }).pipe(Effect.scoped)
  )

  it.live("tells parameters of one name apart", () =>
    Effect.gen(function* () {
      const { told, text } = yield* session(
        [{ path: "/x?include=one&include=two" }],
        [],
        [{ path: "/x?include=three&include=two" }]
      )
      assert.include(text, "include=one&include=two")
      assert.include(told, "include=three")
    }).pipe(Effect.scoped)
  )

  it.live("fails where the connection had failed before an answer", () =>
    Effect.gen(function* () {
      const { live, replayed, told } = yield* session([
        { isRefused: true, asked: postJson({ text: "Hello" }) },
        { asked: postJson({ text: "Hello" }), reply: FakeVendor.json({ well: "again" }) }
      ])
      assert.deepStrictEqual(replayed, live)
      assert.deepStrictEqual(live[0], { failure: "TypeError" })
      assert.strictEqual(told, "")
    }).pipe(Effect.scoped)
  )
})

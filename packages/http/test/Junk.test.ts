/** Whatever comes in, nothing but an answer for the client comes back, and the service goes on. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { InsufficientCredit } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { open, type Service } from "./Service.ts"

const nobody = "00000000-0000-0000-0000-000000000000"

/** Every endpoint with a body, under ids that nobody has. */
const endpoints = [
  ["POST", "/assistants"],
  ["PUT", `/assistants/${nobody}`],
  ["POST", `/assistants/${nobody}/clone`],
  ["POST", `/assistants/${nobody}/threads`],
  ["POST", "/threads/messages"],
  ["POST", `/threads/${nobody}/messages`],
  ["POST", "/threads/tool-outputs"],
  ["POST", `/threads/${nobody}/runs/${nobody}/submit-tool-outputs`]
] as const

const types = [
  "application/json",
  "application/json; charset=utf-16",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=b",
  "multipart/form-data",
  "multipart/form-data; boundary=",
  "text/plain",
  "x/y; z",
  ";",
  "multipart/mixed; boundary=b"
]

describe("junk", () => {
  let service: Service
  beforeAll(async () => {
    // What is not junk by chance finds no credit: no model is asked.
    service = await open([], {
      metering: { ensureCredit: () => Effect.fail(new InsufficientCredit()), record: () => Effect.void }
    })
  })
  afterAll(() => service[Symbol.asyncDispose]())

  /** Sends a body to every endpoint. Answers with the statuses. */
  const toAll = (body: unknown, type?: string) =>
    Effect.promise(async () => {
      const statuses: Array<number> = []
      for (const [method, path] of endpoints) {
        const answer = await service.call(
          method,
          path,
          body,
          type === undefined ? {} : { headers: { "content-type": type } }
        )
        if (answer.status !== 200) assert.isDefined(answer.body?.detail, answer.text)
        statuses.push(answer.status)
      }
      assert.strictEqual((await service.call("GET", "/threads?limit=1")).status, 200)
      return statuses
    })

  const onlyRefused = (statuses: ReadonlyArray<number>) =>
    assert.isTrue(
      statuses.every((status) => status >= 400 && status < 500),
      statuses.join()
    )

  const neverFaults = (statuses: ReadonlyArray<number>) =>
    assert.isTrue(
      statuses.every((status) => status === 200 || (status >= 400 && status < 500)),
      statuses.join()
    )

  const bytes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })))

  it.effect.prop(
    "random bytes under any content type",
    [bytes, Schema.Literals(types)],
    ([junk, type]) => Effect.map(toAll(new Uint8Array([0, 255, ...junk]), type), onlyRefused),
    { arbitrary: { runs: 60, seed: 1 } }
  )

  it.effect.prop(
    "random JSON",
    [Schema.Json],
    ([json]) => Effect.map(toAll(JSON.stringify(json), "application/json"), neverFaults),
    {
      arbitrary: { runs: 60, seed: 2 }
    }
  )

  const fields = Schema.Record(
    Schema.Literals([
      "name",
      "content",
      "stream",
      "tools",
      "thinking",
      "router",
      "memory",
      "metadata",
      "tool_outputs",
      "thread_id",
      "assistant_id",
      "send_to_llm",
      "tok_k",
      "voice",
      "system_one",
      "custom_timestamp",
      "video_config",
      "__proto__",
      "constructor"
    ]),
    Schema.Json
  )

  it.effect.prop("known fields with random values", [fields], ([body]) => Effect.map(toAll(body), neverFaults), {
    arbitrary: { runs: 60, seed: 3 }
  })

  it.effect.prop(
    "random form fields",
    [Schema.Record(Schema.String, Schema.String)],
    ([body]) => Effect.map(toAll(new URLSearchParams(Object.entries(body))), neverFaults),
    { arbitrary: { runs: 40, seed: 4 } }
  )

  const deep = (depth: number, left: string, right: string) => `${left.repeat(depth)}1${right.repeat(depth)}`
  const broken: ReadonlyArray<readonly [string, string | Uint8Array<ArrayBuffer>, string]> = [
    ["deep arrays", deep(100_000, "[", "]"), "application/json"],
    ["deep objects", deep(100_000, '{"a":', "}"), "application/json"],
    ["deep metadata", `{"content":"x","name":"x","metadata":${deep(50_000, '{"a":', "}")}}`, "application/json"],
    [
      "deep metadata as text",
      JSON.stringify({ content: "x", metadata: deep(50_000, "[", "]"), tool_outputs: 1 }),
      "application/json"
    ],
    ["deep brackets in the middle of nothing", deep(50_000, "}{", "]["), "application/json"],
    ["millions of wrong values", `{"tools":[${"0,".repeat(3_000_000)}0],"tool_outputs":[]}`, "application/json"],
    [
      "as many wrong values as are looked at",
      `{"tools":[${"0,".repeat(9000)}0],"tool_outputs":[${"0,".repeat(9000)}0],"metadata":1}`,
      "application/json"
    ],
    ["a long string of backslashes", `{"content":"${"\\".repeat(100_001)}"}`, "application/json"],
    [
      "huge numbers",
      '{"name":"x","tok_k":1e400,"embedding_dims":123456789012345678901234567890,"thread_id":1e999,"content":-1e400}',
      "application/json"
    ],
    [
      "a number of a million digits",
      `{"name":"x","tok_k":${"9".repeat(1_000_000)},"content":1,"thread_id":1}`,
      "application/json"
    ],
    ["broken UTF-8", new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]), "application/json"],
    ["UTF-16", new Uint8Array([0x7b, 0, 0x7d, 0]), "application/json"],
    ["an overlong encoding", new Uint8Array([0x22, 0xc0, 0xaf, 0x22]), "application/json"],
    ["a lone percent and broken escapes", "content=%FF%FE&name=%", "application/x-www-form-urlencoded"],
    ["too many fields", "a=1&".repeat(5000), "application/x-www-form-urlencoded"],
    [
      "a multipart body without an end",
      '--b\r\nContent-Disposition: form-data; name="content"\r\n\r\nhello',
      "multipart/form-data; boundary=b"
    ],
    [
      "a multipart body without a name",
      "--b\r\nContent-Disposition: form-data\r\n\r\nhello\r\n--b--\r\n",
      "multipart/form-data; boundary=b"
    ],
    [
      "a multipart body of another boundary",
      '--a\r\nContent-Disposition: form-data; name="content"\r\n\r\nhello\r\n--a--\r\n',
      "multipart/form-data; boundary=b"
    ],
    [
      "a multipart header that never ends",
      `--b\r\nContent-Disposition: ${"x".repeat(100_000)}`,
      "multipart/form-data; boundary=b"
    ],
    ["an empty multipart body", "", "multipart/form-data; boundary=b"],
    [
      "a multipart field that is not UTF-8",
      new Uint8Array([
        ...new TextEncoder().encode('--b\r\nContent-Disposition: form-data; name="content"\r\n\r\n'),
        0xff,
        ...new TextEncoder().encode("\r\n--b--\r\n")
      ]),
      "multipart/form-data; boundary=b"
    ]
  ]
  it.effect.each(broken)("%s", ([, body, type]) => Effect.map(toAll(body, type), onlyRefused))

  it.effect.each([
    [
      "as a key",
      '{"name":"x","content":"x","__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
    ],
    ["in metadata", '{"name":"x","metadata":{"__proto__":{"polluted":true},"constructor":1,"toString":2}}'],
    ["in options", '{"content":"x","thinking":{"__proto__":{"effort":"low"},"hasOwnProperty":1}}'],
    ["in a form", "__proto__=1&constructor=2&content=%20&tools=%7B%22__proto__%22%3A1%7D"]
  ] as const)("prototype keys %s touch nothing", ([, body]) =>
    Effect.gen(function* () {
      neverFaults(yield* toAll(body, body.startsWith("{") ? "application/json" : "application/x-www-form-urlencoded"))
      assert.isUndefined(({} as Record<string, unknown>)["polluted"])
    })
  )

  it("keeps a prototype key of metadata as plain data", async () => {
    const metadata = '{"__proto__":{"a":1},"b":2}'
    const { body } = await service.call("POST", "/assistants", `{"name":"x","metadata":${metadata}}`, {
      headers: { "content-type": "application/json" }
    })
    assert.strictEqual(JSON.stringify(body.metadata_), metadata)
  })

  it("answers strange paths and methods", async () => {
    const paths = [
      "//",
      "/%",
      "/%00",
      "/%FF",
      "/threads/%2e%2e",
      "/threads/%FF",
      `/threads/${"x".repeat(5000)}`,
      "/threads/\u{1f600}",
      "/assistants?skip=%FF&limit=%00",
      "/threads?skip=1&skip=2",
      "/assistants?name=%F0",
      "/threads?limit=1e2",
      "/threads?limit=0x10",
      "/threads?skip=10001",
      "/threads?include_messages=2",
      "/..;/threads",
      "/threads/../../etc/passwd"
    ]
    for (const path of paths) {
      for (const method of ["GET", "DELETE", "OPTIONS", "HEAD", "PROPFIND"]) {
        const { status } = await service.call(method, path)
        assert.isTrue(status >= 200 && status < 500, `${method} ${path}: ${status}`)
      }
    }
  })
})

/** Lists whose records may have a megabyte: what is written is the JSON of the whole, and other fibers run between its pieces. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { writeList, writePage } from "../src/encoding/EncodeList.ts"

const decoder = new TextDecoder()

const readJson = Effect.fnUntraced(function* ({ body }: HttpServerResponse.HttpServerResponse) {
  if (body._tag === "Uint8Array") return JSON.parse(decoder.decode(body.body))
  if (body._tag !== "Stream") throw new Error(`The body is ${body._tag}.`)
  const bytes = Buffer.concat(yield* Stream.runCollect(body.stream))
  assert.strictEqual(body.contentLength, bytes.length)
  return JSON.parse(decoder.decode(bytes))
})

const records = (count: number, size: number) =>
  Array.from({ length: count }, (_, index) => ({ index, text: "ä".repeat(size) }))

it.effect.each([
  [0, 0],
  [1, 3],
  [2, 40_000],
  [20, 300_000]
] as const)("%i records of %i characters", ([count, size]) =>
  Effect.gen(function* () {
    const all = records(count, size)
    assert.deepStrictEqual(yield* readJson(yield* writeList(all)), all)
    const page = { total_count: 7, next_cursor: null }
    assert.deepStrictEqual(yield* readJson(yield* writePage("records", all, page)), { records: all, ...page })
  })
)

it.effect("others run while a long list is written", () =>
  Effect.gen(function* () {
    let turns = 0
    const others = yield* Effect.forkChild(
      Effect.forever(
        Effect.andThen(
          Effect.yieldNow,
          Effect.sync(() => turns++)
        )
      )
    )
    yield* writePage("records", records(20, 1_000_000), { next_cursor: null })
    yield* Fiber.interrupt(others)
    assert.isAtLeast(turns, 4)
  })
)

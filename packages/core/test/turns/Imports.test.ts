/** Messages of other systems, as they write them. */
import { Assistants, Conversations } from "@colloquy/core"
import { afterAll, assert, beforeAll, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { failureFrom, messagesIn, story } from "../support/Story.ts"

const importing = Effect.fnUntraced(function* (messages: ReadonlyArray<unknown>) {
  const { id: assistantId } = yield* (yield* Assistants).create({ name: "A" })
  return yield* Effect.flatMap(Conversations, (conversations) => conversations.import({ assistantId, messages }))
})

/** A process in New York reads the same. */
const zone = process.env["TZ"]
beforeAll(() => {
  process.env["TZ"] = "America/New_York"
})
afterAll(() => {
  if (zone === undefined) delete process.env["TZ"]
  else process.env["TZ"] = zone
})

describe("an imported message", () => {
  story(
    "has its time in every form of ISO 8601, which is that of UTC where no other zone is named",
    [],
    Effect.gen(function* () {
      const { id } = yield* importing(
        [
          "2024-05-06",
          "2024-05-06T07:08",
          "2024-05-06T07:08:09",
          "2024-05-06T07:08:09.123456",
          "2024-05-06T07:08:09Z",
          "2024-05-06T07:08:09+02:00"
        ].map((createdAt) => ({ role: "user", content: "Hi", createdAt }))
      )
      assert.deepStrictEqual(
        (yield* messagesIn(id)).map(({ createdAt }) => createdAt.toISOString()),
        [
          "2024-05-06T00:00:00.000Z",
          "2024-05-06T07:08:00.000Z",
          "2024-05-06T07:08:09.000Z",
          "2024-05-06T07:08:09.123Z",
          "2024-05-06T07:08:09.000Z",
          "2024-05-06T05:08:09.000Z"
        ]
      )
    })
  )

  story(
    "with a time in another form is refused",
    [],
    Effect.gen(function* () {
      const times = ["1", "March 7", "7.3.2024", "2024-05-06T07:08:09 GMT-0500", ""]
      const error = yield* failureFrom(
        importing(times.map((createdAt) => ({ role: "user", content: "Hi", createdAt })))
      )
      assert.strictEqual(error._tag, "ImportRefused")
      if (error._tag !== "ImportRefused") return
      assert.deepStrictEqual(
        error.problems.map(({ index, path }) => [index, ...path]),
        times.map((_, index) => [index, "createdAt"])
      )
    })
  )

  story(
    "of a user may have an empty list of calls",
    [],
    Effect.gen(function* () {
      const { id } = yield* importing([{ role: "user", content: "Hi", toolCalls: [] }])
      assert.lengthOf(yield* messagesIn(id), 1)
      const error = yield* failureFrom(importing([{ role: "user", content: "Hi", toolCalls: [{}] }]))
      assert.strictEqual(error._tag, "ImportRefused")
    })
  )
})

/** A search tool's output is not shown once what it found is deleted, wherever a reader begins. */
import { RecalledTexts } from "@colloquy/core/adapters"
import { type HostedTool, Turns } from "@colloquy/core"
import { callTool, say } from "@colloquy/testing"
import { assert, describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { story } from "../support/Story.ts"

const search: HostedTool = {
  definition: { name: "search", description: null, parameters: null },
  run: (_, call) =>
    Effect.sync(() => {
      call.keep("note-1")
      return "the walrus"
    })
}

describe("the output of a search tool", () => {
  story(
    "is shown to a reader who begins anywhere as long as its source exists",
    [callTool("search"), say("Found.")],
    Effect.gen(function* () {
      const existing = new Set(["note-1"])
      const texts = yield* RecalledTexts
      yield* texts.register({
        part: "tools",
        tools: ["search"],
        existing: (sources) => Effect.succeed(sources.filter((source) => existing.has(source))),
        shown: (value, exists) => (typeof value === "string" && exists(value) ? value : null)
      })
      const turns = yield* Turns
      const { runId, threadId } = yield* turns.send({ content: "?" })
      const readFrom = (after: number) =>
        Effect.flatMap(turns.follow(threadId, runId, after), (events) => Stream.runCollect(events))
      const all = yield* readFrom(0)
      const shown = Effect.forEach(all, ({ sequence }) =>
        Effect.map(readFrom(sequence), (events) => JSON.stringify(events).includes("walrus"))
      )
      const output = all.findIndex(({ _tag }) => _tag === "HostedResult")
      const kept = all.findIndex(({ _tag }) => _tag === "PartKept")
      assert.isTrue(kept >= 0 && kept < output)
      assert.deepStrictEqual(
        yield* shown,
        all.map((_, index) => index < output)
      )
      existing.clear()
      assert.notInclude(yield* shown, true)
    }),
    { hosted: [search] }
  )
})

/** Reasoning that a model writes into its text, cut wherever the network may cut it. */
import { assert, describe, it } from "@effect/vitest"
import type { ChatEvent } from "@colloquy/core/adapters"
import { makeTagSplitter } from "../../src/protocols/ThinkTags.ts"

const split = (pieces: ReadonlyArray<string>) => {
  const events: Array<ChatEvent> = []
  const splitter = makeTagSplitter()
  for (const piece of pieces) splitter.feed(piece, events)
  splitter.end(events)
  const joined = (tag: ChatEvent["_tag"]) =>
    events.map((event) => ("text" in event && event._tag === tag ? event.text : "")).join("")
  return { reasoning: joined("ReasoningDelta"), text: joined("TextDelta") }
}

const cases: ReadonlyArray<readonly [name: string, written: string, reasoning: string, text: string]> = [
  ["reasoning and text", "<think>so</think>\n\nHello", "so", "Hello"],
  ["space before the tag", "\n <think>so</think>Hello", "so", "Hello"],
  ["no tag", "Hello <think>not</think>", "", "Hello <think>not</think>"],
  ["something that begins like a tag", "<thin air", "", "<thin air"],
  ["an end that begins like a tag", "<thi", "", "<thi"],
  ["reasoning that does not end", "<think>so </thin", "so </thin", ""],
  ["a tag that is spoken of later", "<think>a</think>b </think> <think>", "a", "b </think> <think>"],
  ["nothing", "", "", ""]
]

describe("makeTagSplitter", () => {
  for (const [name, written, reasoning, text] of cases) {
    it(`splits ${name}, wherever it is cut`, () => {
      assert.deepStrictEqual(split([written]), { reasoning, text })
      assert.deepStrictEqual(split(Array.from(written)), { reasoning, text })
      for (let at = 0; at <= written.length; at++) {
        assert.deepStrictEqual(split([written.slice(0, at), written.slice(at)]), { reasoning, text })
      }
    })
  }

  it("does not hold back white space without end", () => {
    assert.deepStrictEqual(split(Array.from({ length: 100 }, () => " ")).text.length, 100)
  })
})

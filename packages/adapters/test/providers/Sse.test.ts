/** Server-sent events, cut wherever the network may cut them. */
import { assert, describe, it } from "@effect/vitest"
import { makeSseReader } from "../../src/protocols/Sse.ts"

const read = (pieces: ReadonlyArray<string>, maxCharacters = 1000): ReadonlyArray<string> => {
  const reader = makeSseReader(maxCharacters)
  return [...pieces.flatMap((piece) => reader.feed(piece) ?? assert.fail("too large")), ...reader.end()]
}

const cases: ReadonlyArray<readonly [name: string, text: string, data: ReadonlyArray<string>]> = [
  ["two events", "data: a\n\ndata: b\n\n", ["a", "b"]],
  ["CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]],
  ["CR", "data: a\r\rdata: b\r\r", ["a", "b"]],
  ["several lines of data", "data: a\ndata:\ndata: b\n\n", ["a\n\nb"]],
  ["one space after the colon is dropped, others stay", "data:a\n\ndata:  b\n\n", ["a", " b"]],
  ["comments and other fields", ": hi\nevent: x\nid: 1\nretry: 5\ndata: a\n: data: b\n\n", ["a"]],
  ["blank lines without data", "\n\n\ndata: a\n\n\n\n", ["a"]],
  ["an end without a blank line", "data: a\n\ndata: b", ["a", "b"]],
  ["colons and the word data inside", 'data: data: {"a":1}\n\n', ['data: {"a":1}']],
  ["an empty body", "", []]
]

describe("makeSseReader", () => {
  for (const [name, text, data] of cases) {
    it(`reads ${name}, wherever it is cut`, () => {
      assert.deepStrictEqual(read([text]), data)
      assert.deepStrictEqual(read(Array.from(text)), data)
      for (let first = 0; first <= text.length; first++) {
        for (let second = first; second <= text.length; second++) {
          assert.deepStrictEqual(read([text.slice(0, first), text.slice(first, second), text.slice(second)]), data)
        }
      }
    })
  }

  it("refuses a line and an event that grow beyond the bound, and nothing else", () => {
    assert.isNull(makeSseReader(10).feed("x".repeat(11)))
    const lines = makeSseReader(10)
    assert.deepStrictEqual(lines.feed("data: 123456\n"), [])
    assert.isNull(lines.feed("data: 7890\n"))
    assert.strictEqual(read(["data: 1\n\n".repeat(100)], 10).length, 100)
  })
})

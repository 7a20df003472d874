/** A body with one JSON on each line, which may be as large as a file: it is read in steps. */
import type { Steps } from "@colloquy/core/adapters"
import * as Result from "effect/Result"
import { parsingJson } from "../wire/Json.ts"

/** In place of a line that is no JSON. */
const notJson = null

const atOnce = 64

/** What `read` makes of each line. Empty lines are left out. The pieces of a text may break anywhere. */
export function* readJsonLines<A>(
  pieces: ReadonlyArray<string>,
  read: (value: unknown, index: number) => A
): Steps<ReadonlyArray<A>> {
  const made: Array<A> = []
  let rest = ""
  for (const piece of [...pieces, "\n"]) {
    const lines = piece.split("\n")
    // Only the piece is searched: a line may have as many pieces as the body.
    const last = lines.pop() ?? ""
    const [first = null, ...others] = lines
    if (first === null) {
      rest += last
      yield
      continue
    }
    const whole = [rest + first, ...others]
    rest = last
    for (const line of whole) {
      if (line.trim() === "") continue
      const parsed = yield* parsingJson(line)
      made.push(read(Result.isSuccess(parsed) ? parsed.success : notJson, made.length))
      if (made.length % atOnce === 0) yield
    }
    yield
  }
  return made
}

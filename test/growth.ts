/**
 * Measures how the work for a text grows with its length: the least time of several runs at one, two and four times a length. A measurement
 * that fails is repeated with longer texts, because collections of garbage and other work of the machine fall into short ones; work that grows
 * with the square of its text fails at every length.
 */
import { assert } from "@effect/vitest"

/** The most by which the time may grow when the text is twice as long. */
const most = 2.3

/** A shorter time is noise; then a longer text is measured. In milliseconds. */
const shortest = 8
const rounds = 6
const lengths = 4

const timed = async (work: () => unknown): Promise<number> => {
  const before = performance.now()
  await work()
  return performance.now() - before
}

/** Fails if doubling the length makes the work more than 2.3 times as long, or if a text takes more than `atMost` milliseconds. What is too fast at `longest` to be measured is in line. */
export const growsInLine = async (
  make: (length: number) => string,
  from: number,
  work: (text: string) => unknown,
  { atMost = 10_000, longest = 2_000_000 } = {}
): Promise<void> => {
  let length = from
  const first = () => timed(() => work(make(length)))
  while (Math.min(await first(), await first()) < shortest) {
    length *= 2
    // Too fast to be measured, and so in line.
    if (length > longest) return
  }
  const seen: Array<string> = []
  for (let left = lengths; left > 0; left--, length *= 2) {
    const least = await leastTimes([make(length), make(2 * length), make(4 * length)], work)
    seen.push(`${least.map((time) => time.toFixed(1)).join(", ")} ms for 1, 2 and 4 times ${length} characters`)
    assert.isAtMost(least.at(-1) ?? Infinity, atMost, seen.join("; "))
    if (isInLine(least)) return
  }
  assert.fail(seen.join("; "))
}

const leastTimes = async (texts: ReadonlyArray<string>, work: (text: string) => unknown) => {
  const least = texts.map(() => Infinity)
  for (let left = rounds; left > 0 && !isInLine(least); left--) {
    for (const [index, text] of texts.entries()) {
      least[index] = Math.min(least[index] ?? Infinity, await timed(() => work(text)))
    }
  }
  return least
}

/** On average of both steps, because one step alone is often noise. */
const isInLine = ([one = 0, , four = Infinity]: ReadonlyArray<number>): boolean =>
  Number.isFinite(four) && four <= most ** 2 * Math.max(one, 1)

/** A pattern, repeated to a length. */
export const repeated = (pattern: string, length: number): string =>
  pattern.repeat(Math.ceil(length / pattern.length)).slice(0, length)

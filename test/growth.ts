/**
 * Measures how the work for a text grows with its length: the least time of several runs at one, two and four times a length. A measurement
 * that fails is repeated, because other work of the machine may fall into it; work that grows with the square of its text fails every one.
 */
import { assert } from "@effect/vitest"

/** The most by which the time may grow when the text is twice as long, on average of the two steps: one step alone is often noise. */
const most = 2.3
const repetitions = 16

/** A shorter time is noise; then a longer text is measured. In milliseconds. */
const shortest = 8
const longest = 2_000_000

const timed = async (work: () => unknown): Promise<number> => {
  const before = performance.now()
  await work()
  return performance.now() - before
}

/** Fails if doubling the length makes the work more than 2.3 times as long, or if the longest text takes more than `atMost` milliseconds. */
export const growsInLine = async (
  make: (length: number) => string,
  from: number,
  work: (text: string) => unknown,
  atMost = 10_000
): Promise<void> => {
  let length = from
  const first = () => timed(() => work(make(length)))
  while (length < longest && Math.min(await first(), await first()) < shortest) length *= 2
  const texts = [make(length), make(2 * length), make(4 * length)]
  const least = texts.map(() => Infinity)
  const isSlow = () => (least[2] ?? 0) > most ** 2 * Math.max(least[0] ?? 0, 1)
  for (let left = repetitions; left > 0 && (left === repetitions || isSlow()); left--) {
    for (const [index, text] of texts.entries()) {
      least[index] = Math.min(least[index] ?? Infinity, await timed(() => work(text)))
      assert.isAtMost(least[index], atMost, `milliseconds for ${text.length} characters`)
    }
  }
  const shown = least.map((time) => time.toFixed(1)).join(", ")
  assert.isFalse(isSlow(), `${shown} ms for ${length}, ${2 * length} and ${4 * length} characters`)
}

/** A pattern, repeated to a length. */
export const repeated = (pattern: string, length: number): string =>
  pattern.repeat(Math.ceil(length / pattern.length)).slice(0, length)

/**
 * Measures how the work for a text grows with its length: the least processor time of several runs at a length and at four times of it. What
 * else the machine does, does not count, nor what V8's helper threads collect, which takes them longer when the cores are busy. A measurement
 * that fails is repeated with longer texts, because collections of garbage fall into short ones, and the longer ones of two need more of them
 * until both need many. Where no length alone is in line, the shortest and the longest text decide, which a slow memory disturbs less: work
 * that grows with the square of its text fails there too.
 */
import { assert } from "@effect/vitest"
import { usedByThread } from "./processorTime.ts"

/** The most by which the time may grow when the text is twice as long. */
const most = 2.3

/** The same on average from the shortest text to the longest: between two, which is in line, and four, which is the square. */
const mostOnAverage = 2.83

/** A shorter time is noise, because the kernel tells the time of a thread every millisecond or so; then a longer text is measured. In milliseconds. */
const shortest = 5
const rounds = 6
const lengths = 6

const timed = async (work: () => unknown): Promise<number> => {
  const before = usedByThread()
  await work()
  return usedByThread() - before
}

/** Fails if doubling the length makes the work more than 2.3 times as long, or if a text takes more than `atMost` milliseconds. What is too fast at `longest` to be measured is in line. */
export const growsInLine = async (
  make: (length: number) => string,
  from: number,
  work: (text: string) => unknown,
  { atMost = 10_000, longest = 500_000 } = {}
): Promise<void> => {
  let length = from
  const first = async () => {
    const text = make(length)
    return Math.min(await timed(() => work(text)), await timed(() => work(text)))
  }
  while ((await first()) < shortest) {
    length *= 2
    // Too fast to be measured, and so in line.
    if (length > longest) return
  }
  const seen: Array<string> = []
  let [shortestTook, longestTook] = [Infinity, Infinity]
  for (let left = lengths; left > 0; left--, length *= 2) {
    const [one, four] = await leastTimes(make(length), make(4 * length), work)
    seen.push(`${one.toFixed(1)} and ${four.toFixed(1)} ms for 1 and 4 times ${length} characters`)
    assert.isAtMost(four, atMost, seen.join("; "))
    if (isInLine(one, four)) return
    shortestTook = Math.min(shortestTook, one)
    longestTook = four
  }
  assert.isAtMost(longestTook, mostOnAverage ** (lengths + 1) * Math.max(shortestTook, 1), seen.join("; "))
}

const leastTimes = async (short: string, long: string, work: (text: string) => unknown) => {
  let [one, four] = [Infinity, Infinity]
  for (let left = rounds; left > 0 && !isInLine(one, four); left--) {
    one = Math.min(one, await timed(() => work(short)))
    four = Math.min(four, await timed(() => work(long)))
  }
  return [one, four] as const
}

/** On average of both doublings, because one alone is often noise. */
const isInLine = (one: number, four: number): boolean => Number.isFinite(four) && four <= most ** 2 * Math.max(one, 1)

/** A pattern, repeated to a length. */
export const repeated = (pattern: string, length: number): string =>
  pattern.repeat(Math.ceil(length / pattern.length)).slice(0, length)

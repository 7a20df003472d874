import { usedByThread } from "./processorTime.ts"

/**
 * The longest time that this thread works on one thing while everything else waits, in milliseconds of its CPU: what else uses the machine does not
 * count.
 */
export const longestStretch = () => {
  let [last, longest] = [usedByThread(), 0]
  const look = () => {
    const now = usedByThread()
    longest = Math.max(longest, now - last)
    last = now
  }
  const timer = setInterval(look, 1)
  return {
    end: () => {
      look()
      clearInterval(timer)
      return longest
    }
  }
}

/** Touching 40 MB of new memory takes 10 to 15 ms on most machines. Some that are short of memory take ten times as long for each page. */
const usualForMemory = 15
const newMemory = 40 * 1024 * 1024

const priceOfMemory = (): number => {
  const before = usedByThread()
  Buffer.allocUnsafeSlow(newMemory).fill(1)
  return usedByThread() - before
}

/** A limit in milliseconds, with what this machine takes for 40 MB of new memory beyond the usual. */
export const onThisMachine = (limit: number): number =>
  limit + Math.max(0, Math.min(priceOfMemory(), priceOfMemory()) - usualForMemory)

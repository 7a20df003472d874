/**
 * The longest time that this thread works on one thing while everything else waits, in milliseconds of its CPU: what else uses the machine does not
 * count.
 */
export const longestStretch = () => {
  const used = () => {
    const { system, user } = process.threadCpuUsage()
    return (system + user) / 1000
  }
  let [last, longest] = [used(), 0]
  const look = () => {
    const now = used()
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

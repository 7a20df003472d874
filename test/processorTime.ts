const inMillis = ({ system, user }: NodeJS.CpuUsage): number => (system + user) / 1000

/** The milliseconds of processors that this process has used: what else the machine does, does not count. */
export const usedTime = (): number => inMillis(process.cpuUsage())

/** Those of this thread alone, without V8's helpers. The kernel tells them only every millisecond or so. */
export const usedByThread = (): number => inMillis(process.threadCpuUsage())

/** The milliseconds of processors that some work takes. */
export const processorTime = (work: () => unknown): number => {
  const before = usedTime()
  work()
  return usedTime() - before
}

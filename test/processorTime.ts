/** The milliseconds of processors that this process has used: what else the machine does, does not count. (Those of a thread are told by the kernel only every millisecond or so.) */
export const usedTime = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1000
}

/** The milliseconds of processors that some work takes. */
export const processorTime = (work: () => unknown): number => {
  const before = usedTime()
  work()
  return usedTime() - before
}

/** Waits. Ends at once when `stop` is aborted. */
export const pause = (millis: number, stop?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      stop?.removeEventListener("abort", end)
      resolve()
    }
    const timer = setTimeout(end, millis)
    if (stop?.aborted === true) end()
    else stop?.addEventListener("abort", end)
  })

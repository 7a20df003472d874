/** Messages between the tabs of the studio in one browser, so that all of them show the same. */
export type Change =
  | { readonly kind: "assistants" | "threads" }
  /** Something happened on a thread; `hasEnded`: its run is over, or waits. */
  | { readonly kind: "thread"; readonly threadId: string; readonly runId: string; readonly hasEnded: boolean }

const channel = new BroadcastChannel("colloquy-studio")

// A channel has no target origin: it reaches the tabs of this origin alone.
// oxlint-disable-next-line unicorn/require-post-message-target-origin
export const tellTabs = (change: Change): void => channel.postMessage(change)

export const hearTabs = (hear: (change: Change) => void): void =>
  channel.addEventListener("message", ({ data }: MessageEvent<Change>) => hear(data))

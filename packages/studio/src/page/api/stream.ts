/** Reads the events of a run to its end, over as many connections as necessary. If the server dies, it waits. */
import { pause } from "../lib/pause.ts"
import type { StreamEvent } from "../wire.ts"
import { call, isRefusal } from "./http.ts"

/** The ids of events that do not contain them. */
export interface EventIds {
  readonly thread_id: string
  readonly run_id: string
}

/** An event is one line that begins with "data: ", however the network splits it. Deltas get the ids of the events before them. */
export async function* readEvents(body: ReadableStream<Uint8Array>, begin: EventIds): AsyncGenerator<StreamEvent> {
  let ids: EventIds = begin
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ""
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (rest + decoder.decode(piece.value, { stream: true })).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) {
      if (!line.startsWith("data: ")) continue
      const event: StreamEvent = { ...ids, ...JSON.parse(line.slice(6)) }
      ids = { thread_id: event.thread_id, run_id: event.run_id }
      yield event
    }
  }
}

const ends = new Set<StreamEvent["type"]>(["run_ended", "run_failed", "run_cancelled", "message_saved"])

export interface Reading {
  readonly threadId: string
  readonly stop: AbortSignal
  /** Each event once, in order. */
  readonly onEvent: (event: StreamEvent) => void
  /** The connection broke in the middle of the run, or was restored. */
  readonly onBreak: (isBroken: boolean) => void
}

/**
 * Follows a run from the response that `begin` opens, to its end or to its request for tool outputs. When the connection breaks, the next
 * one continues after the last received event, as often as necessary.
 */
export const follow = (begin: () => Promise<Response>, reading: Reading): Promise<void> =>
  read(begin, null, false, reading)

/** The log of a run from its first event over all its rounds, and then live. */
export const followWhole = (runId: string, reading: Reading): Promise<void> =>
  read(() => eventsAfter(reading, runId, 0), runId, true, reading)

const eventsAfter = ({ stop, threadId }: Reading, runId: string, sequence: number) =>
  call(`/threads/${threadId}/runs/${runId}/events?after=${sequence}`, { signal: stop })

const read = async (
  begin: () => Promise<Response>,
  runId: string | null,
  isWhole: boolean,
  reading: Reading
): Promise<void> => {
  const { onBreak, onEvent, stop } = reading
  let run = runId
  let last = 0
  let failures = 0
  let isWaiting = false
  while (!stop.aborted) {
    const before = last
    try {
      const response = run === null || last === 0 ? await begin() : await eventsAfter(reading, run, last)
      if (failures > 0) onBreak(false)
      if (response.status === 204 || response.body === null) return
      for await (const event of readEvents(response.body, { thread_id: reading.threadId, run_id: run ?? "" })) {
        if (stop.aborted) return
        run = event.run_id
        last = event.sequence
        failures = 0
        isWaiting = event.type === "tool_submit_required"
        onEvent(event)
        if (ends.has(event.type)) return
      }
      if (isWaiting && !isWhole) return
      // A round has ended. The next one may be in the log already.
      if (isWaiting && last > before) continue
    } catch (error) {
      // A message that was refused is told also to a reader who has gone on. What the signal ended is a `DOMException`.
      if (stop.aborted && (last > 0 || error instanceof DOMException)) return
      // The request itself was refused, so the caller gets the error and nothing is retried.
      if (last === 0 || isRefusal(error)) throw error
    }
    failures += 1
    if (failures === 1) onBreak(true)
    await pause(Math.min(failures * 500, 3000), stop)
  }
}

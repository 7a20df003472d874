/**
 * The events of an answer that is a stream, for `for await`. Leaving the loop closes the connection. Deltas come without ids over the wire,
 * and get the ids of the events before them here.
 */
import type { RunUpdated } from "../wire/InboxRecords.ts"
import type { StreamEvent } from "../wire/StreamEvents.ts"

/** The ids of the run of an event. A stream that is read from its middle tells its assistant with the first event that is no delta. */
export interface EventIds {
  readonly thread_id: string
  readonly run_id: string
  readonly assistant_id: string | null
}

/** An event of a stream, with the ids of its run. */
export type ClientEvent = StreamEvent & EventIds

type Send = (signal: AbortSignal) => Promise<Response>
type Read<A> = (response: Response, signal: AbortSignal) => AsyncGenerator<A, void, undefined>

/** The request is sent when the first item is asked for. `return` ends it at once, also while an item is waited for. */
export const leavable = <A>(send: Send, read: Read<A>) => {
  const left = new AbortController()
  const items = untilLeft(send, read, left.signal)
  const finish = items.return.bind(items)
  items.return = () => {
    left.abort()
    return finish()
  }
  return items
}

async function* untilLeft<A>(send: Send, read: Read<A>, signal: AbortSignal): AsyncGenerator<A, void, undefined> {
  try {
    yield* read(await send(signal), signal)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** `begin`: what the caller knows of the stream already. */
export async function* readEvents(
  response: Response,
  signal: AbortSignal,
  begin: Partial<EventIds> = {}
): AsyncGenerator<ClientEvent, void, undefined> {
  let ids: EventIds = { thread_id: "", run_id: "", assistant_id: null, ...begin }
  for await (const block of readBlocks(response, signal)) {
    const event = parseEvent(block)
    if (event === null) continue
    if ("thread_id" in event) ids = readIds(event)
    yield { ...ids, ...event }
  }
}

/** The changes of runs. With the `id` of the last one, the next reading goes on behind it. */
export async function* readUpdates(
  response: Response,
  signal: AbortSignal
): AsyncGenerator<RunUpdated & { readonly id: string }, void, undefined> {
  for await (const block of readBlocks(response, signal)) {
    const [, id, data] = /^id: (\d+)\ndata: (.*)$/u.exec(block) ?? []
    if (id !== undefined && data !== undefined) yield { ...JSON.parse(data), id }
  }
}

async function* readBlocks({ body }: Response, signal: AbortSignal): AsyncGenerator<string, void, undefined> {
  if (body === null) return
  const reader = body.getReader()
  const stop = () => void reader.cancel().catch(() => {})
  if (signal.aborted) stop()
  signal.addEventListener("abort", stop)
  const decoder = new TextDecoder()
  let rest = ""
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      const blocks = (rest + decoder.decode(piece.value, { stream: true })).split("\n\n")
      rest = blocks.pop() ?? ""
      yield* blocks
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** One line of data an event; comments have none. */
const parseEvent = (block: string): StreamEvent | null => {
  const data = /^data: (.*)$/mu.exec(block)?.[1]
  return data === undefined ? null : JSON.parse(data)
}

const readIds = ({ assistant_id, run_id, thread_id }: Extract<StreamEvent, { readonly thread_id: string }>) => ({
  assistant_id,
  run_id,
  thread_id
})

/** The events of an answer that is a stream, for `for await`. Leaving the loop closes the connection. */
import type { StreamEvent } from "../wire/StreamEvents.ts"

export async function* readEvents({ body }: Response): AsyncGenerator<StreamEvent, void, undefined> {
  if (body === null) return
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ""
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      const blocks = (rest + decoder.decode(piece.value, { stream: true })).split("\n\n")
      rest = blocks.pop() ?? ""
      for (const block of blocks) {
        const event = eventOf(block)
        if (event !== null) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** One line of data an event; comments have none. */
const eventOf = (block: string): StreamEvent | null => {
  const data = /^data: (.*)$/mu.exec(block)?.[1]
  return data === undefined ? null : JSON.parse(data)
}

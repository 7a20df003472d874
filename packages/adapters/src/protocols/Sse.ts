/**
 * Server-sent events as every model provider uses them: only the `data` counts, because each vendor repeats the event's name inside it.
 *
 * Own code instead of `effect/encoding/Sse` for three reasons: it takes a last event without its blank line, it scans for line ends
 * instead of visiting each character (a streamed answer is mostly this loop), and it treats `retry:` as the noise that it is here.
 * Used by Transport. Holds at most `maxCharacters` of an unfinished event.
 */

export interface SseReader {
  /** The data of every event that `text` completes; null when an event is larger than allowed. */
  readonly feed: (text: string) => ReadonlyArray<string> | null
  /** What stands at the end of the body without a blank line. */
  readonly end: () => ReadonlyArray<string>
}

export const makeSseReader = (maxCharacters: number): SseReader => {
  let line = ""
  let data: string | null = null
  let endedInReturn = false
  let complete: Array<string> = []

  const takeLine = (whole: string): void => {
    if (whole === "") {
      if (data !== null) complete.push(data)
      data = null
    } else if (whole.startsWith("data:")) {
      const value = whole.slice(whole.charCodeAt(5) === 32 ? 6 : 5)
      data = data === null ? value : `${data}\n${value}`
    }
  }

  /** CRLF and CR become LF. A CRLF may be cut by the network, so the CR is remembered. */
  const withPlainLineEnds = (text: string): string => {
    const rest = endedInReturn && text.startsWith("\n") ? text.slice(1) : text
    if (text !== "") endedInReturn = text.endsWith("\r")
    return rest.includes("\r") ? rest.replace(/\r\n?/g, "\n") : rest
  }

  const takeComplete = (): ReadonlyArray<string> => {
    const taken = complete
    complete = []
    return taken
  }

  return {
    feed: (raw) => {
      const text = withPlainLineEnds(raw)
      let from = 0
      let end = text.indexOf("\n")
      while (end !== -1) {
        takeLine(line + text.slice(from, end))
        line = ""
        from = end + 1
        end = text.indexOf("\n", from)
      }
      line += text.slice(from)
      return line.length + (data ?? "").length > maxCharacters ? null : takeComplete()
    },
    end: () => {
      takeLine(line)
      takeLine("")
      line = ""
      return takeComplete()
    }
  }
}

/**
 * Reads server-sent events from model providers. Only the field `data` is read, because every vendor repeats the name of an event inside it.
 *
 * There are three reasons not to use `effect/encoding/Sse`: this reader accepts a last event without a blank line, it searches for line ends in
 * place of visiting each character (most CPU time of a streamed answer is spent here), and it ignores `retry:`. Used by `Transport`. At most
 * `maxCharacters` of an unfinished event are held in memory.
 */

export interface SseReader {
  /** The data of every event that `text` completes; null when an event is larger than allowed. */
  readonly feed: (text: string) => ReadonlyArray<string> | null
  /** The data of a last event that no blank line ends. */
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

  /** Replaces CRLF and CR by LF. A CRLF may be split between two pieces, so a CR at the end of a piece is remembered. */
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

/**
 * The messages of the PostgreSQL protocol by which the rows of a list are asked for in portions. The client asks for all rows at once: it
 * sends the messages that begin a statement, and then always the same two messages, `Execute` without a limit and `Sync`.
 */

const [parse, bind] = [0x50, 0x42]

const executeAll = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4])

/** Asks for the next rows, and for what was written so far (`Flush`). */
export const executeRows = (rows: number): Buffer => {
  const messages = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x48, 0, 0, 0, 4])
  messages.writeUInt32BE(rows, 6)
  return messages
}

/** The message `PortalSuspended`: there may be more rows. Every other end of an answer ends with a zero byte. */
export const portionEnd = Buffer.from([0x73, 0, 0, 0, 4])

export const sync = Buffer.from([0x53, 0, 0, 0, 4])

/** A list that the client pages through. */
const isList = (sql: string): boolean => /\blimit \$\d/u.test(sql)

/** Knows which prepared statements are lists. */
export class ListStatements {
  private readonly names = new Set<string>()

  /** The messages of the client that come before its request for all rows of a list. Null: the messages are of another kind. */
  readBeginning(messages: Buffer): Buffer | null {
    const end = messages.length - executeAll.length
    if (end < 0 || !messages.subarray(end).equals(executeAll)) return null
    let isListed = false
    for (let at = 0; at < end; at += 1 + messages.readInt32BE(at + 1)) {
      const type = messages[at]
      if (type === parse) {
        const [name, next] = readText(messages, at + 5)
        if (isList(readText(messages, next)[0])) this.names.add(name)
        else this.names.delete(name)
      } else if (type === bind) {
        const [name] = readText(messages, readText(messages, at + 5)[1])
        isListed = this.names.has(name)
      }
    }
    return isListed ? messages.subarray(0, end) : null
  }
}

/** Reads a text that ends with a zero byte. `next` is the position after it. */
const readText = (messages: Buffer, at: number): readonly [text: string, next: number] => {
  const end = messages.indexOf(0, at)
  return [messages.toString("utf8", at, end), end + 1]
}

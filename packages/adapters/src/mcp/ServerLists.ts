/**
 * Reads what a server lists, page by page, within bounds. The SDK's own readers would look at every entry, however many there are, and would
 * compile the schemas of the tools' results.
 */
import type { StandardSchemaV1 } from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import { type Connection, ServerUnreachable } from "./Connection.ts"

/** The most pages of a list that are read. A server may send empty pages without end. */
const mostPages = 32

/** How long a whole list may take. */
const listTimeout = "30 seconds"

type Kind = "tools" | "resources" | "prompts"

/** The first `most` entries that are wanted, and whether the server has more than was read. */
export const readList = Effect.fnUntraced(
  function* (connection: Connection, kind: Kind, most: number, isWanted: (entry: unknown) => boolean = () => true) {
    const found: Array<unknown> = []
    let pages = 0
    let cursor: string | undefined
    do {
      const page = yield* readPage(connection, kind, cursor, most)
      found.push(...page.entries.filter(isWanted))
      cursor = page.cursor
      pages += 1
    } while (cursor !== undefined && pages < mostPages && found.length < most)
    return { found: found.slice(0, most), hasMore: cursor !== undefined || found.length > most }
  },
  (reading, _connection, kind) =>
    Effect.timeoutOrElse(reading, {
      duration: listTimeout,
      orElse: () => Effect.fail(new ServerUnreachable({ cause: new Error(`its list of ${kind} takes too long`) }))
    })
)

const readPage = ({ client }: Connection, kind: Kind, cursor: string | undefined, most: number) =>
  Effect.tryPromise({
    try: async (signal) => {
      const params = cursor === undefined ? {} : { cursor }
      const page = await client.request({ method: `${kind}/list`, params }, anything, { signal })
      const { [kind]: entries, nextCursor } = page
      return {
        entries: Array.isArray(entries) ? entries.slice(0, 10 * most) : [],
        cursor: typeof nextCursor === "string" ? nextCursor : undefined
      }
    },
    catch: (cause) => new ServerUnreachable({ cause })
  })

/** A schema that accepts any result, because its entries are checked one by one. */
const anything: StandardSchemaV1<unknown, Readonly<Record<string, unknown>>> = {
  "~standard": {
    version: 1,
    vendor: "colloquy",
    validate: (value) => (isRecord(value) ? { value } : { issues: [{ message: "the result is no object" }] })
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** The text of a field; empty where there is none. */
export const textField = (entry: unknown, field: string): string => {
  const value = isRecord(entry) ? entry[field] : undefined
  return typeof value === "string" ? value : ""
}

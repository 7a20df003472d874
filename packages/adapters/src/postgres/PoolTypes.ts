/**
 * What the stores use of a `pg.Pool` and of its clients, so that `pg` itself is not imported: every version 8 fits, and whatever behaves
 * like one.
 */

/** How a column's text becomes a value; `pg` asks for each column of an answer. */
export interface PoolRowTypes {
  readonly getTypeParser: (oid: number) => (text: string) => unknown
}

export interface PoolQuery {
  readonly text: string
  readonly values: Array<unknown>
  readonly types: PoolRowTypes
}

export interface PoolAnswer {
  readonly rows: ReadonlyArray<object>
  readonly command?: string
}

interface PoolListening {
  (event: "error", listener: (error: Error) => void): unknown
  (event: "end", listener: () => void): unknown
  (event: "notification", listener: (message: PoolNotification) => void): unknown
}

/** A connection that was taken from a pool. */
export interface PoolConnection {
  query(query: PoolQuery): Promise<PoolAnswer>
  readonly on: PoolListening
  readonly removeListener: PoolListening
  /** The server's process, for a request to cancel. */
  readonly processID?: number | null
}

export interface PoolNotification {
  readonly channel: string
  readonly payload?: string | undefined
  readonly processId: number
}

export interface LeasedConnection extends PoolConnection {
  /** Back to the pool; with `true` it is closed instead. */
  readonly release: (destroy?: boolean) => void
}

export interface Pool {
  readonly connect: () => Promise<LeasedConnection>
  readonly options: { readonly max?: number | undefined }
}

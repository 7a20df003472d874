/**
 * The members of `pg.Pool` and of its clients that the stores use. With these types the package `pg` is not imported, and every version 8
 * of it fits, as does another pool with the same members.
 */

/** Chooses the parser for a column's text. `pg` calls it for each column of a result. */
export interface PoolRowTypes {
  readonly getTypeParser: (oid: number) => (text: string) => unknown
}

export interface PoolQuery {
  readonly text: string
  readonly values: Array<unknown>
  readonly types: PoolRowTypes
}

export interface PoolResult {
  readonly rows: ReadonlyArray<object>
  readonly command?: string
}

interface PoolListening {
  (event: "error", listener: (error: Error) => void): unknown
  (event: "end", listener: () => void): unknown
  (event: "notification", listener: (message: PoolNotification) => void): unknown
}

/** The methods of a `pg` client that the stores call. Any pool whose clients have these methods can be used. */
export interface PoolConnection {
  query(query: PoolQuery): Promise<PoolResult>
  readonly on: PoolListening
  readonly removeListener: PoolListening
  /** The id of the server's process for this connection; a request to cancel a statement needs it. */
  readonly processID?: number | null
}

export interface PoolNotification {
  readonly channel: string
  readonly payload?: string | undefined
  readonly processId: number
}

export interface LeasedConnection extends PoolConnection {
  /** Returns the connection to the pool, or with `true` closes it. */
  readonly release: (destroy?: boolean) => void
}

/** The part of a pool of `pg` that the stores use. */
export interface Pool {
  readonly connect: () => Promise<LeasedConnection>
  readonly options: { readonly max?: number | undefined }
}

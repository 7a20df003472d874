/** The messages and servers of `node:http`, for programs without the types of Node too. */
export interface IncomingMessage {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly complete: boolean
}

export interface ServerResponse {
  readonly headersSent: boolean
  readonly writableEnded: boolean
}

export interface Server {
  readonly listening: boolean
  readonly maxHeadersCount: number | null
}

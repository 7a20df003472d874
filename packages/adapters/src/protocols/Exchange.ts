/**
 * The narrow port between `Transport` and the HTTP client of the platform: one request, the head of its response, and the bytes of the body.
 * It uses callbacks, because an effect or a promise for every network read would cost noticeable CPU time.
 *
 * `NodeRequest` implements the port on Node.js. `sendByFetch` implements it with `fetch`, for other platforms and for a `fetch` of the host.
 */

export interface HttpRequest {
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  /** The text or bytes of a POST; null for a GET. */
  readonly body: string | Uint8Array<ArrayBuffer> | null
  /** True: the request is never sent a second time, not even after a lost connection, because what it orders costs money. */
  readonly isOnce?: boolean
}

/** The next bytes; `end` after the whole body; `broken` when the connection was lost before the end. */
export type Read = Uint8Array | "end" | "broken"

/** A request and its response. The sender must call `release` in every case. */
export interface Exchange {
  /** The status of the response; 0 before its head has arrived. */
  readonly status: () => number
  /** The value of a header; null if it is missing, and before the head has arrived. */
  readonly header: (name: string) => string | null
  /** Calls `take` once, immediately or later. Only one read at a time is allowed. After the end, every read gives `end`. */
  readonly read: (take: (next: Read) => void) => void
  /** Whether the end of the body has arrived. Bytes before it may not have been read yet. */
  readonly isOver: () => boolean
  /** Keeps the connection for another request if the body has ended, and closes it otherwise. No callback is called afterwards. */
  readonly release: () => void
}

/**
 * Sends a request. Calls `onHead` once and not immediately: with true when the head of the response has arrived, with false when there will
 * be no response and with the error of the connection, if there was one. Redirects are not followed.
 */
export type Send = (request: HttpRequest, onHead: (isAnswered: boolean, error?: unknown) => void) => Exchange

export const sendByFetch =
  (fetch: typeof globalThis.fetch): Send =>
  (request, onHead) => {
    const controller = new AbortController()
    let response: Response | null = null
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    let isOver = false
    const end = (): Read => {
      isOver = true
      return "end"
    }
    // An async function, because a `fetch` of the host may throw where it should reject.
    const fetchResponse = async (): Promise<Response> =>
      fetch(request.url, {
        method: request.body === null ? "GET" : "POST",
        headers: request.headers,
        body: request.body,
        redirect: "manual",
        signal: controller.signal
      })
    fetchResponse().then(
      (answer) => {
        response = answer
        reader = answer.body?.getReader()
        onHead(true)
      },
      (error: unknown) => onHead(false, error)
    )
    return {
      status: () => response?.status ?? 0,
      header: (name) => response?.headers.get(name) ?? null,
      read: (take) => {
        if (reader === undefined) return take(end())
        reader.read().then(
          ({ value }) => take(value ?? end()),
          () => take("broken")
        )
      },
      isOver: () => isOver,
      // A body that was read to its end is not aborted, because an abort creates an exception with its stack.
      release: () => {
        if (!isOver) controller.abort()
      }
    }
  }

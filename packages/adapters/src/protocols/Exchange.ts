/**
 * The narrow port between the transport and the platform's HTTP: one request, the head of its answer, and its bytes, piece by piece.
 * It speaks in callbacks, because a step of an effect or of a promise would be paid again for every network read.
 *
 * `NodeRequest` implements it on Node. Here it is made of `fetch`, for every other platform and for hosts that bring a `fetch`.
 */

export interface HttpRequest {
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  /** Text or bytes to post; null for a GET. */
  readonly body: string | Uint8Array<ArrayBuffer> | null
  /** True: never sent a second time, not even when the connection turns out to be gone. Everything it asks for is paid for. */
  readonly isOnce?: boolean
}

/** The next bytes, the end of the whole body, or that it broke before its end. */
export type Read = Uint8Array | "end" | "broken"

/** A request on its way, and then its answer. Its sender must leave it, on every path. */
export interface Exchange {
  /** 0 before the head is there. */
  readonly status: () => number
  /** Null for a header that is missing, and before the head is there. */
  readonly header: (name: string) => string | null
  /** Calls `take` once, at once or later. One read at a time; behind the end it tells the end again. */
  readonly read: (take: (next: Read) => void) => void
  /** The end of the body has arrived, though what came before it may not have been read yet. */
  readonly isOver: () => boolean
  /** Keeps the connection for the next request when the exchange is over, and closes it otherwise. No callback is called after it. */
  readonly leave: () => void
}

/**
 * Calls `hear` once, later: true when the head of the answer is there, false when there will be none. Tells no cause, which could quote
 * a header, and so a key. Follows no redirect.
 */
export type Send = (request: HttpRequest, hear: (isAnswered: boolean) => void) => Exchange

export const sendByFetch =
  (fetch: typeof globalThis.fetch): Send =>
  (request, hear) => {
    const controller = new AbortController()
    let response: Response | null = null
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
    let isOver = false
    const end = (): Read => {
      isOver = true
      return "end"
    }
    // A `fetch` of the host may throw where it should reject.
    const ask = async (): Promise<Response> =>
      fetch(request.url, {
        method: request.body === null ? "GET" : "POST",
        headers: request.headers,
        body: request.body,
        redirect: "manual",
        signal: controller.signal
      })
    ask().then(
      (answer) => {
        response = answer
        reader = answer.body?.getReader()
        hear(true)
      },
      () => hear(false)
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
      // What was read to its end needs no abort, which would cost an exception and its stack.
      leave: () => {
        if (!isOver) controller.abort()
      }
    }
  }

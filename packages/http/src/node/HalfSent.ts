/**
 * The end of requests whose answer has gone out while their body has not come in: Node would keep the connection for five minutes, waiting
 * for the rest of the body, which is not needed. A client that is still sending gets some time to finish; one that stopped loses the
 * connection.
 */
import type { IncomingMessage, ServerResponse } from "node:http"

const requestTimeout = 408

export const endHalfSent = (message: IncomingMessage, response: ServerResponse, millis: number): void => {
  if (message.httpVersionMajor !== 1) return
  response.once("finish", () => {
    if (message.complete) return
    if (response.statusCode === requestTimeout) {
      message.socket.destroySoon()
      return
    }
    const timer = setTimeout(() => {
      if (!message.complete) message.socket.destroy()
    }, millis)
    message.once("close", () => clearTimeout(timer))
  })
}

/** Answers to requests that do not reach the service, or that it could not answer: one line of JSON, like all its other errors. */
import type { ServerResponse } from "node:http"
import { noSniffing } from "../App.ts"

export const refuse = (
  response: ServerResponse,
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {}
): void => {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const body = JSON.stringify({ detail })
  const length = Buffer.byteLength(body)
  response.writeHead(status, {
    ...headers,
    ...noSniffing,
    "content-type": "application/json",
    "content-length": length
  })
  response.end(body)
}

export const notFound = (response: ServerResponse): void => refuse(response, 404, "Not Found")

export const badRequest = (response: ServerResponse): void => refuse(response, 400, "Bad Request")

/**
 * Once a head has been sent, or where Node expects no body, no error can be written any more: the connection is closed, so that the client
 * does not take what it has for the answer.
 */
export const fault = (response: ServerResponse): void => {
  if (response.headersSent || response.statusCode === 204 || response.statusCode === 304) response.destroy()
  else refuse(response, 500, "Internal Server Error")
}

/** What a client is told of a body that could not be read. */
import type { HttpServerError } from "effect/http/HttpServerError"
import { BadRequest, PayloadTooLarge, RequestTimeout } from "../wire/Errors.ts"

export const tooLarge = () => new PayloadTooLarge({ detail: "The body is over the limit of this server" })

/** The client has stopped sending before the end. */
export const tooSlow = () => new RequestTimeout({ detail: "The rest of the body did not come in time" })

export const unreadable = ({ reason }: HttpServerError): BadRequest | PayloadTooLarge | RequestTimeout => {
  if (reason._tag !== "RequestParseError") return new BadRequest({ detail: "The body could not be read" })
  if (reason.reason === "BodyTooLarge") return tooLarge()
  return reason.cause === "late" ? tooSlow() : new BadRequest({ detail: "The body could not be read" })
}

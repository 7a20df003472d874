/** What a client is told of a body that could not be read. */
import type { HttpServerError } from "effect/http/HttpServerError"
import { BadRequest, PayloadTooLarge } from "../wire/Errors.ts"

export const tooLarge = () => new PayloadTooLarge({ detail: "The body is over the limit of this server" })

export const unreadable = ({ reason }: HttpServerError): BadRequest | PayloadTooLarge =>
  reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
    ? tooLarge()
    : new BadRequest({ detail: "The body could not be read" })

/** The errors that every endpoint with a body can answer before it decodes the body. */
import { BadRequest, PayloadTooLarge, RequestTimeout, UnsupportedMediaType } from "../wire/Errors.ts"

export const unreadable = [BadRequest, RequestTimeout, PayloadTooLarge, UnsupportedMediaType] as const

/** The answers that every endpoint with a body can give before the body is looked at. */
import { BadRequest, PayloadTooLarge, RequestTimeout, UnsupportedMediaType } from "../wire/Errors.ts"

export const unreadable = [BadRequest, RequestTimeout, PayloadTooLarge, UnsupportedMediaType] as const

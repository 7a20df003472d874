/** The answers that every endpoint with a body can give before the body is looked at. */
import { BadRequest, PayloadTooLarge, UnsupportedMediaType } from "./Errors.ts"

export const unreadable = [BadRequest, PayloadTooLarge, UnsupportedMediaType] as const

/** A key of a provider as a host gives it: hidden from logs by the host already, or plain text, which is hidden from here on. */
import * as Redacted from "effect/Redacted"

export type ApiKey = Redacted.Redacted<string> | string

export const hidden = (key: ApiKey): Redacted.Redacted<string> => (typeof key === "string" ? Redacted.make(key) : key)

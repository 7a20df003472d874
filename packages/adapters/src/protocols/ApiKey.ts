/** The key of a provider, as the host passes it: redacted, or as plain text. `hidden` makes plain text redacted, so that logs never show it. */
import * as Redacted from "effect/Redacted"

export type ApiKey = Redacted.Redacted<string> | string

export const hidden = (key: ApiKey): Redacted.Redacted<string> => (typeof key === "string" ? Redacted.make(key) : key)

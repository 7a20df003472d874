/** Keys and addresses as plain text, made unreadable for logs before anything else sees them. */
import * as Redacted from "effect/Redacted"

export type Secret = string | Redacted.Redacted<string>

export const hidden = (secret: Secret): Redacted.Redacted<string> =>
  typeof secret === "string" ? Redacted.make(secret) : secret

/** The setting `apiKey` of a provider; nothing where there is no key. */
export const readApiKey = (key: Secret | undefined): { readonly apiKey?: Redacted.Redacted<string> } =>
  key === undefined ? {} : { apiKey: hidden(key) }

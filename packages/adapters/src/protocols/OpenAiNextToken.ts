/**
 * Reads the probabilities of the first tokens of an answer, from a request to Chat Completions that is short, not streamed, and asks for
 * `logprobs`. Used by `providers/OpenAi`, `providers/OpenAiCompatible` and `providers/OpenRouter`.
 */
import type {
  NextTokenDriver,
  NextTokenReply,
  NextTokenRequest,
  TokenCandidate,
  TokenPosition
} from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type { ApiKey } from "./ApiKey.ts"
import { readUsage } from "./OpenAiChat.ts"
import type { ChatDialect, WireFields } from "./OpenAiDialect.ts"
import { toFault } from "./OpenAiErrors.ts"
import { bearer, fetchJson, type TransportSettings } from "./Transport.ts"
import { finite, list, record, string, text } from "./Wire.ts"

export interface OpenAiNextTokenSettings extends TransportSettings {
  /** The address including the version; `/chat/completions` is appended. */
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
  readonly dialect: Pick<ChatDialect, "maxTokensField" | "requestIdHeader">
  /** Body fields that only this server accepts. */
  readonly extra?: WireFields
}

// ------ request

const lower = (request: NextTokenRequest, { dialect, extra }: OpenAiNextTokenSettings) => ({
  model: request.model,
  messages: [
    { role: "system", content: request.system },
    { role: "user", content: request.prompt }
  ],
  [dialect.maxTokensField]: request.maxTokens,
  temperature: 0,
  logprobs: true,
  top_logprobs: mostCandidates,
  // A reasoning model returns log-probabilities only with reasoning turned off.
  ...(request.info.thinkingControls?.efforts.includes("none") === true ? { reasoning_effort: "none" } : {}),
  ...extra
})

/** The largest number that the vendor accepts. */
const mostCandidates = 20

// ------ response

const read = (body: unknown): NextTokenReply => {
  const { choices, model, usage } = record(body)
  const { content } = record(record(list(choices)[0]).logprobs)
  return { positions: list(content).map(record).map(readPosition), model: text(model) ?? null, usage: readUsage(usage) }
}

const readPosition = (position: { readonly [field: string]: unknown }): TokenPosition => ({
  token: string(position.token) ?? "",
  candidates: list(position.top_logprobs).flatMap(readCandidate)
})

/** A list of one candidate, or an empty list for a malformed entry. */
const readCandidate = (entry: unknown): ReadonlyArray<TokenCandidate> => {
  const { logprob, token } = record(entry)
  const logProbability = finite(logprob)
  const written = string(token)
  return written === undefined || logProbability === undefined ? [] : [{ token: written, logProbability }]
}

// ------ driver

export const driver =
  (settings: OpenAiNextTokenSettings): NextTokenDriver =>
  (request) =>
    Effect.suspend(() => {
      const { apiKey, model, provider } = request
      const call = {
        provider,
        model,
        url: `${settings.baseUrl}/chat/completions`,
        headers: { ...settings.headers },
        secrets: bearer(apiKey ?? settings.apiKey),
        body: JSON.stringify(lower(request, settings))
      }
      const { requestIdHeader } = settings.dialect
      return Effect.map(fetchJson(call, { requestIdHeader, fault: toFault }, settings), read)
    })

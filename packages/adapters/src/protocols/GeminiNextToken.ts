/**
 * Reads the probabilities of the first tokens of an answer, from Google's `:generateContent`. A model that cannot stop thinking returns no
 * log-probabilities; the reply then has no positions. Used by `providers/Gemini`.
 */
import type { NextTokenDriver, NextTokenReply, NextTokenRequest, TokenCandidate } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import type { ApiKey } from "./ApiKey.ts"
import { callSecrets, modelResource, readUsage } from "./Gemini.ts"
import { errorDialect } from "./GeminiErrors.ts"
import { fetchJson, type TransportSettings } from "./Transport.ts"
import { finite, list, record, string, text } from "./Wire.ts"

export interface GeminiNextTokenSettings extends TransportSettings {
  /** The address including the version. */
  readonly baseUrl: string
  readonly apiKey?: ApiKey
  readonly headers?: { readonly [name: string]: string }
}

// ------ request

const lower = ({ system, prompt, maxTokens, info }: NextTokenRequest) => ({
  systemInstruction: { parts: [{ text: system }] },
  contents: [{ role: "user", parts: [{ text: prompt }] }],
  generationConfig: {
    maxOutputTokens: maxTokens,
    temperature: 0,
    responseLogprobs: true,
    logprobs: mostCandidates,
    ...(info.thinkingControls?.efforts.includes("none") === true ? { thinkingConfig: { thinkingBudget: 0 } } : {})
  }
})

/** The largest number that the vendor accepts. */
const mostCandidates = 20

// ------ response

const read = (body: unknown): NextTokenReply => {
  const { candidates, modelVersion, usageMetadata } = record(body)
  const { chosenCandidates, topCandidates } = record(record(list(candidates)[0]).logprobsResult)
  const chosen = list(chosenCandidates).map(record)
  const positions = list(topCandidates).map((position, index) => {
    const listed = list(record(position).candidates).flatMap(readCandidate)
    return { token: string(chosen[index]?.token) ?? listed[0]?.token ?? "", candidates: listed }
  })
  return { positions, model: text(modelVersion) ?? null, usage: readUsage(usageMetadata) }
}

/** A list of one candidate, or an empty list for a malformed entry. */
const readCandidate = (entry: unknown): ReadonlyArray<TokenCandidate> => {
  const { logProbability, token } = record(entry)
  const number = finite(logProbability)
  const written = string(token)
  return written === undefined || number === undefined ? [] : [{ token: written, logProbability: number }]
}

// ------ driver

export const driver =
  (settings: GeminiNextTokenSettings): NextTokenDriver =>
  (request) =>
    Effect.suspend(() => {
      const { apiKey, model, provider } = request
      const call = {
        provider,
        model,
        url: `${settings.baseUrl}/${modelResource(model)}:generateContent`,
        headers: { ...settings.headers },
        secrets: callSecrets(apiKey ?? settings.apiKey),
        body: JSON.stringify(lower(request))
      }
      return Effect.map(fetchJson(call, errorDialect, settings), read)
    })

/** Everything that speaks OpenAI's dialect, with its key as plain text: `openaiCompatible({ apiKey })`. Every other setting is that of `@colloquy/adapters/openai-compatible`. */
import { type OpenAiCompatibleSettings, provider } from "@colloquy/adapters/openai-compatible"
import type { Provider } from "@colloquy/core"
import { readApiKey, type Secret } from "./Secret.ts"

/** The settings of a compatible service with the key as a text. */
export interface OpenAiCompatibleOptions extends Omit<OpenAiCompatibleSettings, "apiKey"> {
  /** May be absent where every customer brings a key. */
  readonly apiKey?: Secret | undefined
}

export const openaiCompatible = ({ apiKey, ...settings }: OpenAiCompatibleOptions): Provider =>
  provider({ ...settings, ...readApiKey(apiKey) })

/** OpenAI, with its key as plain text: `openai({ apiKey })`. Every other setting is that of `@colloquy/adapters/openai`. */
import { type OpenAiSettings, provider } from "@colloquy/adapters/openai"
import type { Provider } from "@colloquy/core"
import { readApiKey, type Secret } from "./Secret.ts"

/** The settings of OpenAI with the key as a text. */
export interface OpenAiOptions extends Omit<OpenAiSettings, "apiKey"> {
  /** May be absent where every customer brings a key. */
  readonly apiKey?: Secret | undefined
}

export const openai = ({ apiKey, ...settings }: OpenAiOptions = {}): Provider =>
  provider({ ...settings, ...readApiKey(apiKey) })

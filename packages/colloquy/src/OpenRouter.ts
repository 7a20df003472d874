/** OpenRouter, with its key as plain text: `openrouter({ apiKey })`. Every other setting is that of `@colloquy/adapters/openrouter`. */
import { type OpenRouterSettings, provider } from "@colloquy/adapters/openrouter"
import type { Provider } from "@colloquy/core"
import { readApiKey, type Secret } from "./Secret.ts"

/** The settings of OpenRouter with the key as a text. */
export interface OpenRouterOptions extends Omit<OpenRouterSettings, "apiKey"> {
  /** May be absent where every customer brings a key. */
  readonly apiKey?: Secret | undefined
}

export const openrouter = ({ apiKey, ...settings }: OpenRouterOptions = {}): Provider =>
  provider({ ...settings, ...readApiKey(apiKey) })

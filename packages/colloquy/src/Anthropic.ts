/** Anthropic, with its key as plain text: `anthropic({ apiKey })`. Every other setting is that of `@colloquy/adapters/anthropic`. */
import { type AnthropicSettings, provider } from "@colloquy/adapters/anthropic"
import type { Provider } from "@colloquy/core"
import { readApiKey, type Secret } from "./Secret.ts"

/** The settings of Anthropic with the key as a text. */
export interface AnthropicOptions extends Omit<AnthropicSettings, "apiKey"> {
  /** May be absent where every customer brings a key. */
  readonly apiKey?: Secret | undefined
}

export const anthropic = ({ apiKey, ...settings }: AnthropicOptions = {}): Provider =>
  provider({ ...settings, ...readApiKey(apiKey) })

/** Gemini, with its key as plain text: `gemini({ apiKey })`. Every other setting is that of `@colloquy/adapters/gemini`. */
import { type GeminiSettings, provider } from "@colloquy/adapters/gemini"
import type { Provider } from "@colloquy/core"
import { readApiKey, type Secret } from "./Secret.ts"

/** The settings of Gemini with the key as a text. */
export interface GeminiOptions extends Omit<GeminiSettings, "apiKey"> {
  /** May be absent where every customer brings a key. */
  readonly apiKey?: Secret | undefined
}

export const gemini = ({ apiKey, ...settings }: GeminiOptions = {}): Provider =>
  provider({ ...settings, ...readApiKey(apiKey) })

/**
 * How many tokens a text has. The default needs no tokenizer and errs high: what the kernel packs by it fits. A host with a real
 * tokenizer replaces it.
 */
import * as Context from "effect/Context"

export interface TokenCounterPort {
  readonly count: (text: string) => number
}

export const TokenCounter = Context.Reference<TokenCounterPort>("@colloquy/core/models/TokenCounter", {
  defaultValue: () => ({ count: estimateTokens })
})

/** Three ASCII characters a token, and one and a half tokens for every other UTF-16 unit: above what common tokenizers give. */
export const estimateTokens = (text: string): number => {
  let ascii = 0
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) < 128) ascii++
  return Math.ceil(ascii / 3 + (text.length - ascii) * 1.5)
}

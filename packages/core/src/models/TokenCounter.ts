/**
 * How many tokens a text has. The default needs no tokenizer and errs high: what the kernel packs by it fits. A host with a real
 * tokenizer replaces it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface TokenCounterPort {
  readonly count: (text: string) => number
}

export const TokenCounter = Context.Reference<TokenCounterPort>("@colloquy/core/models/TokenCounter", {
  defaultValue: () => ({ count: estimateTokens })
})

/** A host's counter may well divide something: sizes are stored and added up as integers. */
export const inWholeTokens: Layer.Layer<never> = Layer.effect(
  TokenCounter,
  Effect.map(TokenCounter, ({ count }) => ({ count: (text) => Math.ceil(count(text)) }))
)

/**
 * Above what common tokenizers give, also for what they cut into small pieces (code, JSON, identifiers, digits): three letters of a word a
 * token, a new word at each capital that follows a small letter, a token for every digit, sign and line break, one and a half for every
 * UTF-16 unit beyond ASCII. A single space belongs to the word behind it.
 */
export const estimateTokens = (text: string): number => {
  let tokens = 0
  let letters = 0
  let before = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const isCapital = code >= 65 && code <= 90
    const isSmall = code >= 97 && code <= 122
    if (isCapital || isSmall) {
      const startsWord = isCapital && before >= 97 && before <= 122
      if (startsWord) letters = 0
      // The first letter of a word, and then every third one.
      if (letters % 3 === 0) tokens++
      letters++
    } else {
      letters = 0
      if (code >= 128) tokens += 1.5
      else if (code !== 32 || before === 32) tokens++
    }
    before = code
  }
  return Math.ceil(tokens)
}

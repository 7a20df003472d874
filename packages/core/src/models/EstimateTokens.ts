/** Pure: how many tokens a text has, without a tokenizer. It loads nothing, because the process that reads files uses it too. */

/**
 * More than common tokenizers count, also for texts that they cut into small pieces (code, JSON, identifiers, digits). It counts one token
 * for three letters of a word, a new word at each capital after a small letter, one token for every digit, sign and line break, and one and
 * a half for every UTF-16 unit beyond ASCII. A single space belongs to the next word.
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

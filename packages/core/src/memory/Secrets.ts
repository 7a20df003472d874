/**
 * Pure: recognises what must never be remembered: keys of providers, tokens, private keys, card numbers, bank accounts, passwords. By shape,
 * because nobody says beforehand that something is a secret; a text that only looks like one is refused as well.
 */
const shapes: ReadonlyArray<RegExp> = [
  /-----BEGIN [A-Z ]*PRIVATE KEY/u,
  // Tokens that begin with the mark of who gave them out.
  /\b(?:sk|pk|rk|ak|xai|gsk|hf|pplx|tvly)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9]{16,}/u,
  /\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{20,}/u,
  /\bxox[abprs]-[A-Za-z0-9-]{10,}/u,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/u,
  /\bAIza[\w-]{30,}/u,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/u,
  /\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/]+:[^\s:@/]+@/iu,
  // A word for a secret, and behind it a value.
  /\b(?:pass ?(?:word|code|phrase)|passwort|kennwort|contrase[ñn]a|mot de passe|pin(?: code)?|secret(?: key)?|api[ _-]?key|access[ _-]?(?:key|token)|auth[ _-]?token|bearer|cvv|cvc|tan)\b(?:[^.\n]{0,40}?)(?:\bis\b|\bist\b|\bes\b|\best\b|[:=])\s*["'`]?\S*[\d\p{L}]\S{2,}/iu,
  /\b(?:ssn|social security number)\b[^.\n]{0,30}\d{3}-?\d{2}-?\d{4}/iu
]

const digitRuns = /(?<![\d.])\d(?:[ -]?\d){12,18}(?!\d)/gu
const longToken =
  /\b(?=[A-Za-z0-9+/_-]*[a-z])(?=[A-Za-z0-9+/_-]*[A-Z])(?=[A-Za-z0-9+/_-]*\d)[A-Za-z0-9+/_-]{32,}={0,2}/u
const account = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b/gu

export const hasSecret = (text: string): boolean => {
  const plain = text.normalize("NFKC")
  return (
    shapes.some((shape) => shape.test(plain)) ||
    longToken.test(plain) ||
    [...plain.matchAll(digitRuns)].some(([run]) => isCardNumber(run.replaceAll(/\D/gu, ""))) ||
    [...plain.matchAll(account)].some(([run]) => isBankAccount(run.replaceAll(" ", "")))
  )
}

/** Card numbers carry a check digit (Luhn). */
const isCardNumber = (digits: string): boolean => {
  if (/^0+$/u.test(digits)) return false
  const sum = Array.from(digits)
    .toReversed()
    .map(Number)
    .reduce((all, digit, place) => all + (place % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2), 0)
  return sum % 10 === 0
}

/** The check of an IBAN: the number, turned round and with digits for letters, leaves 1 when divided by 97. */
const isBankAccount = (code: string): boolean => {
  if (code.length < 15 || code.length > 34) return false
  const turned = code.slice(4) + code.slice(0, 4)
  let rest = 0
  for (const character of turned) {
    const value = Number.parseInt(character, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest === 1
}

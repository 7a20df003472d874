/**
 * Pure: recognises what must never be remembered: keys of providers, tokens, private keys, card numbers, bank accounts, passwords in many
 * languages. It judges by shape, because people do not announce that something is a secret; a text that only looks like a secret is refused
 * too. Every shape has bounds or begins where its characters begin, so that a long text takes time in line with its length.
 */
const shapes: ReadonlyArray<RegExp> = [
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY/u,
  // Tokens with a prefix of their issuer.
  /\b(?:sk|pk|rk|ak|xai|gsk|hf|pplx|tvly|whsec|npm|pypi|dop_v1|shpat|sq0\w{3})[-_](?:[A-Za-z0-9]{1,20}[-_]){0,5}[A-Za-z0-9]{16}/u,
  /\bgh[pousr]_[A-Za-z0-9]{20}|\bgithub_pat_\w{20}|\bglpat-[\w-]{20}/u,
  /\bxox[abeprs]-[A-Za-z0-9-]{10}|\bxapp-[A-Za-z0-9-]{10}|hooks\.slack\.com\/services\/\S/u,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/u,
  /\bAIza[\w-]{30}|\bya29\.[\w-]{10}|\bSG\.[\w-]{16,80}\.[\w-]{16}/u,
  /(?:^|[^\w-])eyJ[\w-]{8,999}\.[\w-]{8}/u,
  /[a-z0-9]:\/\/[^\s:@/]{0,99}:[^\s:@/]{1,999}@/iu,
  /\bauthorization\s{0,9}[:=]\s{0,9}\S/iu,
  /\b(?:seed|recovery|mnemonic|backup) (?:phrase|words?)\b[^.\n]{0,20}?(?:\p{L}{1,20}[\s,]{1,3}){11}/iu,
  /\b(?:ssn|social security number)\b[^.\n]{0,30}?\d{3}-?\d{2}-?\d{4}/iu,
  // Digests and keys in hexadecimal digits.
  /(?<![\p{L}\p{N}])(?:0x)?(?=[0-9a-f]{0,99}[a-f])(?=[0-9a-f]{0,99}\d)[0-9a-f]{32,999}(?![\p{L}\p{N}])/iu,
  /(?<![A-Za-z0-9+/_-])(?=[A-Za-z0-9+/_-]{0,99}[a-z])(?=[A-Za-z0-9+/_-]{0,99}[A-Z])(?=[A-Za-z0-9+/_-]{0,99}\d)[A-Za-z0-9+/_-]{32}/u
]

/** Words for a secret. The secret itself may be words or digits. */
const password = [
  String.raw`pass ?(?:word|code|phrase)s?|passwd|pwd|pass(?:wort|wörtern?|ord(?:et)?)|kennw(?:ort|örter)|wachtwoord|l[öo]senord|adgangskode`,
  String.raw`contrase[ñn]as?|mots? de passe|senhas?|has[łl]o|heslo|salasana|jelsz[óo]|[şs]ifre|m[ậa]t kh[ẩa]u|парол\p{L}*|κωδικ\p{L}*`,
  String.raw`api[ _-]?keys?|(?:access|secret|private|account|encryption)[ _-]?keys?|(?:access|auth|api|refresh)[ _-]?tokens?|client[ _-]secret`
].join("|")
/** Words with other meanings too: the text after them must look like a value. */
const number = [
  String.raw`pin(?:[ -]?code)?|tan|otp|2fa|mfa|cv[vc]2?|pw|token|bearer|secret|clave|geheimzahl|c[óo]digo|security number`,
  String.raw`(?:door|gate|access|security|recovery|backup|verification|alarm|safe|entry|unlock|lock|sim|one-time)[ -]codes?`
].join("|")
const scriptWithoutSpaces =
  "密码|密碼|口令|パスワード|暗証番号|비밀번호|암호|كلمة (?:ال)?(?:مرور|سر)|סיסמ[הא]|पासवर्ड|รหัสผ่าน"

/** A password manager is not a password. */
const isMeant = String.raw`(?!\p{L}|[ -]?(?:managers?|polic|reset|generator|field|rules?|protect|less))`
const named = String.raw`(?:(?<![\p{L}\p{N}])(?:${password})${isMeant}|${scriptWithoutSpaces})`
const anyNamed = String.raw`(?:(?<![\p{L}\p{N}])(?:${password}|${number})${isMeant}|${scriptWithoutSpaces})`
const says = String.raw`(?:[:=：]|(?<!\p{L})(?:is|was|ist|lautet|war|es|est|è|é|er|är|on|to|jest)(?!\p{L})|是|为|為|は|هي)`
const quote = String.raw`["'\u0060«»“”„‘]?`

const spoken: ReadonlyArray<RegExp> = [
  // "the password for the bank: correct horse"
  new RegExp(String.raw`${named}[^.\n]{0,40}?${says}\s{0,9}${quote}\S{0,20}[\d\p{L}]\S{2}`, "iu"),
  // "uses the password hunter2", "the door code is B4711#": a word with letters and digits
  new RegExp(String.raw`${anyNamed}[^.!?\n]{0,30}?(?<![\p{L}\p{N}])(?=\S{0,40}\d)(?=\S{0,40}\p{L})[^\s,;]{5}`, "iu"),
  // "PIN 4821", and no year
  new RegExp(
    String.raw`${anyNamed}(?:\s{1,9}(?!(?:in|on|since|until|by|of|seit|am|im|von)\b)\S{1,9}){0,2}[\s:=：#]{0,9}${quote}\d{3,12}(?![\d-])`,
    "iu"
  ),
  // "set swordfish as the password"
  new RegExp(
    String.raw`\S{3}\s{1,9}(?:is|as|ist|als|est|comme|es|como)\s{1,9}(?:(?:the|my|his|her|their|das|mein|mon|le|la|mi|su|user's)\s{1,9}){1,3}(?:\p{L}{1,30}\s{1,9}){0,2}${named}`,
    "iu"
  )
]

const digitRuns = /(?<![\p{N}.])\d(?:[ .\-‐-―]?\d){12,18}(?!\p{N})/gu
const account = /(?<![\p{L}\p{N}])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?![\p{L}\p{N}])/giu

export const hasSecret = (text: string): boolean => {
  const plain = text.normalize("NFKC")
  return (
    [...shapes, ...spoken].some((shape) => shape.test(plain)) ||
    [...plain.matchAll(digitRuns)].some(([run]) => isCardNumber(run.replaceAll(/\D/gu, ""))) ||
    [...plain.matchAll(account)].some(([run]) => isBankAccount(run.replaceAll(" ", "")))
  )
}

/** Card numbers begin with the digits of an issuer, and have a check digit (Luhn). */
const isCardNumber = (digits: string): boolean => {
  if (!/^[2-6]/u.test(digits)) return false
  const sum = Array.from(digits)
    .toReversed()
    .map(Number)
    .reduce((all, digit, index) => all + (index % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2), 0)
  return sum % 10 === 0
}

/** The check of an IBAN: the number, rotated by four characters and with digits for letters, has the remainder 1 when divided by 97. */
const isBankAccount = (code: string): boolean => {
  if (code.length < 15 || code.length > 34) return false
  const rotated = code.slice(4) + code.slice(0, 4)
  let rest = 0
  for (const character of rotated) {
    const value = Number.parseInt(character, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest === 1
}

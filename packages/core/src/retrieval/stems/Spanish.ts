/** The Spanish stemmer of the Snowball project, written from its published description. */
import { cutIn, list, findRegions, suffixIn, longestSuffix, without } from "./Regions.ts"

const vowels = "aeiouáéíóúü"

const pronouns = list("me se sela selo selas selos la le lo las les los nos")
const plain =
  list(`anza anzas ico ica icos icas ismo ismos able ables ible ibles ista istas oso osa osos osas amiento amientos imiento
  imientos`)
const agents = list("adora ador ación adoras adores aciones ante antes ancia ancias acion")
const standard = [
  ...plain,
  ...agents,
  ...list("logía logías ución uciones encia encias amente mente idad idades iva ivo ivas ivos")
]
const verbsInY = list("ya ye yan yen yeron yendo yo yó yas yes yais yamos")
const verbsInE = list("en es éis emos")
const verbs = [
  ...verbsInE,
  ...list(`arían arías arán arás aríais aría aréis aríamos aremos ará aré erían erías erán erás eríais ería eréis eríamos eremos erá eré
  irían irías irán irás iríais iría iréis iríamos iremos irá iré aba ada ida ía ara iera ad ed id ase iese aste iste an aban ían aran
  ieran asen iesen aron ieron ado ido ando iendo ió ar er ir as abas adas idas ías aras ieras ases ieses ís áis abais íais arais
  ierais aseis ieseis asteis isteis ados idos amos ábamos íamos imos áramos iéramos iésemos ásemos`)
]

export const spanishStem = (word: string): string => {
  if (!/^[a-záéíóúüñ]+$/u.test(word)) return word
  const { r1, r2 } = findRegions(word, vowels)
  const rv = verbRegion(word)
  const bare = withoutPronoun(word, rv)
  const noun = withoutStandard(bare, r1, r2)
  const verb = noun === bare ? withoutVerb(bare, rv) : noun
  return unaccented(withoutResidue(verb, rv))
}

const isVowel = (word: string, index: number): boolean => vowels.includes(word.charAt(index)) && index < word.length

const verbRegion = (word: string): number => {
  if (word.length < 3) return word.length
  const wanted = isVowel(word, 1) ? !isVowel(word, 0) : null
  if (wanted === true) return 3
  for (let index = 2; index < word.length; index++) {
    if (isVowel(word, index) === (wanted === null)) return index + 1
  }
  return word.length
}

const unaccented = (word: string): string =>
  word.replaceAll(/[áéíóú]/gu, (letter) => "aeiou".charAt("áéíóú".indexOf(letter)))

const withoutPronoun = (word: string, rv: number): string => {
  const pronoun = suffixIn(word, rv, pronouns)
  if (pronoun === null) return word
  const stem = without(word, pronoun)
  const accented = suffixIn(stem, rv, list("iéndo ándo ár ér ír"))
  if (accented !== null) return without(stem, accented, unaccented(accented))
  const hasVerb = suffixIn(stem, rv, list("ando iendo ar er ir")) !== null
  return hasVerb || (suffixIn(stem, rv, ["yendo"]) !== null && stem.endsWith("uyendo")) ? stem : word
}

const withoutStandard = (word: string, r1: number, r2: number): string => {
  const suffix = longestSuffix(word, standard)
  if (suffix === null || word.length - suffix.length < (suffix === "amente" ? r1 : r2)) return word
  const stem = without(word, suffix)
  if (plain.includes(suffix)) return stem
  if (agents.includes(suffix)) return cutIn(stem, r2, "ic")
  if (suffix.startsWith("log")) return `${stem}log`
  if (suffix.startsWith("uci")) return `${stem}u`
  if (suffix.startsWith("enci")) return `${stem}ente`
  if (suffix === "amente") return withoutSuffix(stem, r2, ["iv", "os", "ic", "ad"])
  if (suffix === "mente") return withoutSuffix(stem, r2, ["ante", "able", "ible"])
  if (suffix.startsWith("idad")) return withoutSuffix(stem, r2, ["abil", "ic", "iv"])
  return cutIn(stem, r2, "at")
}

const withoutSuffix = (word: string, r2: number, suffixes: ReadonlyArray<string>): string => {
  const suffix = longestSuffix(word, suffixes)
  if (suffix === null) return word
  const stem = cutIn(word, r2, suffix)
  return suffix === "iv" && suffixes.includes("os") && stem !== word ? cutIn(stem, r2, "at") : stem
}

const withoutVerb = (word: string, rv: number): string => {
  const inY = suffixIn(word, rv, verbsInY)
  if (inY !== null && without(word, inY).endsWith("u")) return without(word, inY)
  const verb = suffixIn(word, rv, verbs)
  if (verb === null) return word
  const stem = without(word, verb)
  return verbsInE.includes(verb) && stem.endsWith("gu") ? stem.slice(0, -1) : stem
}

const withoutResidue = (word: string, rv: number): string => {
  const suffix = suffixIn(word, rv, list("os a o á í ó e é"))
  if (suffix === null) return word
  const stem = without(word, suffix)
  return /[eé]/u.test(suffix) && stem.endsWith("gu") && stem.length - 1 >= rv ? stem.slice(0, -1) : stem
}

/** The French stemmer of the Snowball project, written from its published description. */
import { cutIn, list, markConsonants, findRegions, suffixIn, longestSuffix, without } from "./Regions.ts"

const vowels = "aeiouyâàëéêèïîôûù"
const isVowel = (letter: string | undefined): boolean =>
  letter !== undefined && letter !== "" && vowels.includes(letter)

const plain = list("ance iqUe isme able iste eux ances iqUes ismes ables istes")
const agents = list("atrice ateur ation atrices ateurs ations")
const standard = [
  ...plain,
  ...agents,
  ...list(`logie logies usion ution usions utions ence ences ement ements ité ités if ive ifs ives eaux aux euse euses issement issements
  amment emment ment ments`)
]
const verbsInI =
  list(`îmes ît îtes i ie ies ir ira irai iraIent irais irait iras irent irez iriez irions irons iront is issaIent issais
  issait issant issante issantes issants isse issent isses issez issiez issions issons it`)
const verbsInE = list("é ée ées és èrent er era erai eraIent erais erait eras erez eriez erions erons eront ez iez")
const verbsInA = list("âmes ât âtes a ai aIent ais ait ant ante antes ants as asse assent asses assiez assions")

interface Regions {
  readonly rv: number
  readonly r1: number
  readonly r2: number
}

export const frenchStem = (word: string): string => {
  if (!/^[a-zâàäçëéêèïîôöûùü]+$/u.test(word)) return word
  const marked = consonants(word)
  const regions = { rv: verbRegion(marked), ...findRegions(marked, vowels) }
  const noun = withoutStandard(marked, regions)
  const isAdverb =
    /(?:amment|emment|ments?)$/u.test(marked) && longestSuffix(marked, standard)?.includes("ment") === true
  const verb = noun === marked || (isAdverb && keepsVerb(marked, noun)) ? withoutVerb(noun, regions) : noun
  const short = verb === marked ? withoutResidue(verb, regions) : verb.replace(/Y$/u, "i").replace(/ç$/u, "c")
  return short
    .replace(/(?:enn|onn|ett|ell|eill)$/u, (ending) => ending.slice(0, -1))
    .replace(/[éè](?=[^aeiouyâàëéêèïîôûù]+$)/u, "e")
    .toLowerCase()
}

/** True if only an adverb's ending was cut. */
const keepsVerb = (word: string, stem: string): boolean => {
  const suffix = longestSuffix(word, standard)
  return suffix !== null && /^(?:amment|emment|ments?)$/u.test(suffix) && stem.length < word.length
}

/** Letters that are consonants here are marked as capitals. */
const consonants = (word: string): string =>
  markConsonants(word, (before, letter, after) => {
    if (letter === "y") return isVowel(before) || isVowel(after)
    if (letter === "u" && before === "q") return true
    return /[iu]/u.test(letter) && isVowel(before) && isVowel(after)
  })

const verbRegion = (word: string): number => {
  if (/^(?:par|col|tap)/u.test(word) || (isVowel(word[0]) && isVowel(word[1]))) return Math.min(3, word.length)
  for (let index = 1; index < word.length; index++) if (isVowel(word[index])) return index + 1
  return word.length
}

const withoutStandard = (word: string, { r1, r2, rv }: Regions): string => {
  const suffix = longestSuffix(word, standard)
  if (suffix === null) return word
  const stem = without(word, suffix)
  const isIn = (region: number) => stem.length >= region
  if (plain.includes(suffix)) return isIn(r2) ? stem : word
  if (agents.includes(suffix)) return isIn(r2) ? orElse(stem, r2, "ic", "iqU") : word
  switch (suffix.replace(/s$/u, "")) {
    case "logie":
      return isIn(r2) ? `${stem}log` : word
    case "usion":
    case "ution":
      return isIn(r2) ? `${stem}u` : word
    case "ence":
      return isIn(r2) ? `${stem}ent` : word
    case "ement":
      return isIn(rv) ? beforeEment(stem, { r1, r2, rv }) : word
    case "ité":
      return isIn(r2) ? beforeIte(stem, r2) : word
    case "if":
    case "ive": {
      if (!isIn(r2)) return word
      const short = cutIn(stem, r2, "at")
      return short === stem ? stem : orElse(short, r2, "ic", "iqU")
    }
    case "eaux":
      return `${stem}eau`
    case "aux":
      return isIn(r1) ? `${stem}al` : word
    case "euse":
      return isIn(r2) ? stem : isIn(r1) ? `${stem}eux` : word
    case "issement":
      return isIn(r1) && !isVowel(stem.at(-1)) ? stem : word
    case "amment":
      return isIn(rv) ? `${stem}ant` : word
    case "emment":
      return isIn(rv) ? `${stem}ent` : word
    default:
      return isVowel(stem.at(-1)) && stem.length - 1 >= rv ? stem : word
  }
}

/** Removes the ending if it is in the region, and replaces it otherwise. */
const orElse = (word: string, region: number, suffix: string, otherwise: string): string => {
  if (!word.endsWith(suffix)) return word
  const stem = without(word, suffix)
  return stem.length >= region ? stem : stem + otherwise
}

const beforeEment = (word: string, { r1, r2, rv }: Regions): string => {
  if (word.endsWith("iv")) {
    const short = cutIn(word, r2, "iv")
    return short === word ? word : cutIn(short, r2, "at")
  }
  if (word.endsWith("eus")) {
    const stem = without(word, "eus")
    return stem.length >= r2 ? stem : stem.length >= r1 ? `${stem}eux` : word
  }
  if (word.endsWith("abl")) return cutIn(word, r2, "abl")
  if (word.endsWith("iqU")) return cutIn(word, r2, "iqU")
  return cutIn(cutIn(word, rv, "ièr", "i"), rv, "Ièr", "i")
}

const beforeIte = (word: string, r2: number): string => {
  if (word.endsWith("abil")) return orElse(word, r2, "abil", "abl")
  return word.endsWith("ic") ? orElse(word, r2, "ic", "iqU") : cutIn(word, r2, "iv")
}

const withoutVerb = (word: string, { r2, rv }: Regions): string => {
  const inI = suffixIn(word, rv, verbsInI)
  if (inI !== null) {
    const stem = without(word, inI)
    if (stem.length > rv && !isVowel(stem.at(-1))) return stem
  }
  const verb = suffixIn(word, rv, ["ions", ...verbsInE, ...verbsInA])
  if (verb === null) return word
  const stem = without(word, verb)
  if (verb === "ions") return stem.length >= r2 ? stem : word
  return verbsInA.includes(verb) ? cutIn(stem, rv, "e") : stem
}

const withoutResidue = (word: string, { r2, rv }: Regions): string => {
  const short = /[^aiouès]s$/u.test(word) ? word.slice(0, -1) : word
  const suffix = suffixIn(short, rv, list("ion ier ière Ier Ière e"))
  if (suffix === null) return short
  const stem = without(short, suffix)
  if (suffix === "ion") return stem.length >= r2 && /[st]$/u.test(stem) && stem.length > rv ? stem : short
  return suffix === "e" ? stem : `${stem}i`
}

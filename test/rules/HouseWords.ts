/** Which words of this project a page uses before it says what they mean. */

/** A word of the glossary that a reader cannot know, and how it stands in a text. `run` and `turn` are also plain verbs, so only their nouns count. */
export interface HouseWord {
  readonly word: string
  readonly pattern: RegExp
}

const noun = (word: string, plural = `${word}s`) => ({
  word,
  pattern: new RegExp(`\\b(?:${plural}|${word})\\b`, "giu")
})

/** What stands before a noun. */
const before = "(?:a|an|the|each|every|its|this|one|whole|same|of|all|with|no|other|later|more|many)"

/** Behind an article or the like, or set off as the word that is explained. */
const afterArticle = (word: string) => new RegExp(`(?<=\\b${before} [*‹]*|[*‹])${word}s?\\b`, "giu")

export const houseWords: ReadonlyArray<HouseWord> = [
  ...[
    "wing",
    "room",
    "leg",
    "host",
    "lease",
    "follow-up",
    "owner",
    "kernel",
    "supplement",
    "delta",
    "excerpt",
    "erasure"
  ].map((word) => noun(word)),
  ...["catalogue", "dialect", "driver", "handoff", "helper", "adapter", "ledger", "variant", "scorer", "judge"].map(
    (word) => noun(word)
  ),
  noun("inbox", "inboxes"),
  noun("hosted tool"),
  noun("typed answer"),
  noun("principal"),
  noun("shelf", "shelves"),
  noun("settlement"),
  noun("follower"),
  noun("verdict"),
  noun("reservation"),
  { word: "settle", pattern: /\bsettle[sd]?\b/giu },
  { word: "part", pattern: /\bparts? of (?:a )?turns?\b/giu },
  { word: "run", pattern: afterArticle("run") },
  { word: "turn", pattern: afterArticle("turn") },
  { word: "thread", pattern: /\bthreads?\b/giu }
]

const isLetter = (character: string | undefined) => character !== undefined && /[\p{L}\p{N}]/u.test(character)

/** A text without what is no prose: programs, code in lines, headings, comments, and the addresses of links (their texts stay, between ‹ and ›). */
const proseIn = (text: string): string =>
  text
    .replaceAll(/^```[\s\S]*?^```/gmu, "")
    .replaceAll(/<!--[\s\S]*?-->|<a id="[^"]*"><\/a>/gu, "")
    .replaceAll(/^#+ .*$/gmu, "")
    .replaceAll(/!?\[((?:[^\][]|`[^`]*`)*)\]\([^)]*\)/gu, "‹$1›")
    .replaceAll(/`[^`]*`/gu, "`code`")

/** Whether this use says what the word means: it is a link, it is set off (*word*), it is followed by its meaning or stands behind it in brackets, or the sentence defines it. */
const isExplained = (prose: string, start: number, word: string): boolean => {
  const end = start + word.length
  const open = prose.lastIndexOf("‹", start)
  if (open >= 0 && prose.lastIndexOf("›", start) < open) return true
  const ahead = prose.slice(end, end + 12)
  const behind = prose.slice(Math.max(0, start - 12), start)
  if (behind.endsWith("*") || ahead.startsWith("*")) return true
  if (ahead.startsWith(" (")) return true
  if (/\((?:(?:the|a|an|its|one) )?$/u.test(behind) && ahead.startsWith(")")) return true
  return /(?:^|[\n.:|] ?)(?:An?|The|One) $/u.test(behind) && /^ (?:is|are|means)\b/u.test(ahead)
}

export interface Unexplained {
  readonly word: string
  readonly where: string
}

/** The words whose first use on the page leaves a reader alone. */
export const unexplainedIn = (text: string): ReadonlyArray<Unexplained> => {
  const prose = proseIn(text)
  return houseWords.flatMap(({ pattern, word }) => {
    const [first] = [...prose.matchAll(pattern)].filter(({ 0: found, index }) => {
      const next = prose[index + found.length]
      return !isLetter(prose[index - 1]) && !isLetter(next) && next !== "-"
    })
    if (first === undefined || isExplained(prose, first.index, first[0])) return []
    const line = prose.slice(Math.max(0, first.index - 60), first.index + 50).replaceAll(/\s+/gu, " ")
    return [{ word, where: line.trim() }]
  })
}

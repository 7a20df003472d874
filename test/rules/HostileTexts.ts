/**
 * Texts that a regular expression is slow with, if any text is: made from the pattern itself. A part that repeats is fed with what it takes,
 * many times, behind a text that leads to it and before a text that fails it; and what leads to it is repeated as well.
 */

import { usedTime } from "../processorTime.ts"

/** A pattern as a tree. A leaf takes one character, or none (an assertion). */
type Node =
  | { readonly kind: "leaf"; readonly source: string }
  | { readonly kind: "none" }
  | { readonly kind: "group"; readonly options: ReadonlyArray<ReadonlyArray<Repeated>> }

interface Repeated {
  readonly node: Node
  readonly least: number
  readonly isLong: boolean
}

/** A part that may be repeated this often is as slow as one without bounds. */
const long = 300

class Reader {
  private at = 0
  private readonly pattern: string

  constructor(pattern: string) {
    this.pattern = pattern
  }

  readonly options = (): ReadonlyArray<ReadonlyArray<Repeated>> => {
    const options: Array<Array<Repeated>> = [[]]
    while (this.at < this.pattern.length && this.pattern[this.at] !== ")") {
      if (this.take(/\|/y) !== null) options.push([])
      else {
        const node = this.node()
        options.at(-1)?.push({ node, ...this.quantifier() })
      }
    }
    return options
  }

  private take(expression: RegExp): string | null {
    expression.lastIndex = this.at
    const [found] = expression.exec(this.pattern) ?? []
    if (found === undefined) return null
    this.at += found.length
    return found
  }

  private quantifier(): Omit<Repeated, "node"> {
    const found = this.take(/(?:[*+?]|\{\d+(?:,\d*)?\})\??/y)?.replace(/(?<=.)\?$/, "") ?? "{1}"
    if (found === "*") return { least: 0, isLong: true }
    if (found === "+") return { least: 1, isLong: true }
    if (found === "?") return { least: 0, isLong: false }
    const [least = 1, most = found.includes(",") ? Infinity : 1] = found.match(/\d+/g)?.map(Number) ?? []
    return { least, isLong: most >= long }
  }

  private node(): Node {
    if (this.take(/\((?:\?:|\?<\w+>|(?!\?))/y) !== null) {
      const options = this.options()
      this.at++
      return { kind: "group", options }
    }
    if (this.take(/\(\?<?[=!]/y) !== null) {
      // What stands ahead is fed to the parts around it by their own characters.
      const options = this.options()
      this.at++
      return { kind: "group", options: [[], ...options] }
    }
    if (this.take(/[\^$]|\\[bB]|\\[1-9]/y) !== null) return { kind: "none" }
    const source = this.take(
      /\\(?:u\{[\da-f]+\}|u[\da-f]{4}|x[\da-f]{2}|[pP]\{[^}]+\}|[^])|\[(?:\\[^]|[^\]\\])*\]|[^]/iuy
    )
    return { kind: "leaf", source: source ?? "" }
  }
}

const alphabet = [
  ...Array.from("aAsz0159 \t\n.,;:!?-_=+*/\\|()[]{}<>@#$%&~^'\"`"),
  ..."é ß 。 日 の 한 ́ ́  ．".split(" "),
  "\r",
  "\u3000",
  "\0"
]

/** Some characters that a leaf takes, those first that other leaves take too. */
const takenCharacters = (source: string, flags: string, all: ReadonlyArray<string>): ReadonlyArray<string> => {
  const own = /^\\?[^]$/u.test(source) ? [source.at(-1) ?? ""] : []
  const takes = new RegExp(`^(?:${source})$`, flags.replaceAll(/[gy]/g, ""))
  return [...own, ...all].filter((character, index, each) => takes.test(character) && each.indexOf(character) === index)
}

const leavesIn = (options: ReadonlyArray<ReadonlyArray<Repeated>>): ReadonlyArray<string> =>
  options.flat().flatMap(({ node }) => {
    if (node.kind === "leaf") return [node.source]
    return node.kind === "group" ? leavesIn(node.options) : []
  })

export interface Attack {
  readonly before: string
  readonly pump: string
  readonly behind: string
}

/** Every attack, most of them harmless. */
export const attacksOn = ({ flags, source }: RegExp): ReadonlyArray<Attack> => {
  const tree = new Reader(source).options()
  const leaves = leavesIn(tree)
  const literals = leaves.filter((leaf) => /^[^\\]$/u.test(leaf))
  const candidates = [...new Set([...alphabet, ...literals])]
  const taken = new Map(leaves.map((leaf) => [leaf, takenCharacters(leaf, flags, candidates)]))
  const popularity = new Map<string, number>()
  for (const leaf of leaves)
    for (const each of taken.get(leaf) ?? []) popularity.set(each, (popularity.get(each) ?? 0) + 1)
  const popular = (leaf: string) =>
    (taken.get(leaf) ?? []).toSorted((a, b) => (popularity.get(b) ?? 0) - (popularity.get(a) ?? 0))

  const sampleText = (node: Node): string => {
    if (node.kind === "none") return ""
    if (node.kind === "leaf") return popular(node.source)[0] ?? "a"
    return shortest(node.options.map((option) => leastText(option)))
  }
  const leastText = (parts: ReadonlyArray<Repeated>): string =>
    parts.map(({ least, node }) => sampleText(node).repeat(Math.min(least, 40))).join("")
  const fullText = (parts: ReadonlyArray<Repeated>): string =>
    parts
      .map(
        ({ least, node }) =>
          (node.kind === "group" ? node.options.map(fullText)[0] : sampleText(node))?.repeat(
            Math.max(1, Math.min(least, 40))
          ) ?? ""
      )
      .join("")

  const attacks: Array<Attack> = []
  const add = (before: string, pumps: ReadonlyArray<string>) => {
    for (const pump of new Set(pumps)) {
      if (pump === "") continue
      for (const behind of ["\u0001", "", "\n", "!"]) attacks.push({ before, pump, behind })
    }
  }
  const walk = (options: ReadonlyArray<ReadonlyArray<Repeated>>, before: string): void => {
    for (const option of options) {
      option.forEach(({ isLong, node }, index) => {
        const lead = before + leastText(option.slice(0, index))
        const fullLead = before + fullText(option.slice(0, index))
        const next = fullText(option.slice(index + 1, index + 2))
        if (isLong) {
          const singles =
            node.kind === "leaf"
              ? [...popular(node.source).slice(0, 5), ...mixed(popular(node.source))]
              : node.kind === "group"
                ? [...node.options.map(leastText), ...node.options.map(fullText)]
                : []
          for (const start of new Set([lead, fullLead])) {
            add(start, [
              ...singles,
              ...singles.map((each) => each + next),
              ...singles.slice(0, 2).map((each) => start + each)
            ])
          }
          add("\u0001", singles)
          add("", [...singles, ...[lead, fullLead].flatMap((start) => [start, `${start} `, `\n${start}`])])
        }
        if (node.kind === "group") walk(node.options, lead)
      })
    }
  }
  walk(tree, "")
  add("", tree.map(fullText))
  return [
    ...new Map(attacks.map((each) => [`${each.before}\u0002${each.pump}\u0002${each.behind}`, each] as const)).values()
  ]
}

/** A letter and a mark in turn, where both are taken: each is the beginning of a word then. */
const mixed = (characters: ReadonlyArray<string>): ReadonlyArray<string> => {
  const letter = characters.find((each) => /^\w$/.test(each))
  const mark = characters.find((each) => /^[!-~]$/.test(each) && !/^\w$/.test(each))
  return letter === undefined || mark === undefined ? [] : [letter + mark]
}

const shortest = (texts: ReadonlyArray<string>): string =>
  texts.reduce((least, text) => (text.length < least.length ? text : least), texts[0] ?? "")

/** As `replaceAll`, `split` and `matchAll` do: from behind each match. */
const timed = (expression: RegExp, text: string): number => {
  const isSticky = expression.flags.includes("y")
  const every = isSticky ? expression : new RegExp(expression.source, `${expression.flags.replace("g", "")}g`)
  every.lastIndex = 0
  const start = usedTime()
  let left = isSticky ? 1 : 200
  while (left-- > 0) {
    const found = every.exec(text)
    if (found === null) break
    if (found[0] === "") every.lastIndex++
  }
  return usedTime() - start
}

const lengths = [16, 24, 100, 500, 2_000, 8_000, 32_000]
/** Milliseconds. A pattern that is done with 8,000 characters in less does not grow with the square: that would be 30 million steps. */
const quick = 2
/** A linear pattern takes twice as long with twice the text, one with the square four times. */
const most = 2.6
/** Milliseconds. A text of 8,000 characters takes a pattern that is linear a tenth of this. */
const slow = 8

/** The attack with which the time grows with the square of the text or faster; null: none does. */
export const weaknessIn = (expression: RegExp): Attack | null =>
  attacksOn(expression).find((attack) => isSlowWith(expression, attack)) ?? null

const isSlowWith = (expression: RegExp, { before, behind, pump }: Attack): boolean => {
  const pumpedText = (length: number) => before + pump.repeat(Math.ceil(length / pump.length)) + behind
  const length = slowLength(expression, pumpedText)
  if (length === null) return false
  const least = (part: number) => Math.min(...[1, 2, 3, 4].map(() => timed(expression, pumpedText(length * part))))
  const [quarter, half, whole] = [least(0.25), least(0.5), least(1)]
  return whole > slow && whole > most * half && half > most * quarter
}

const slowLength = (expression: RegExp, makeText: (length: number) => string): number | null => {
  for (const length of lengths) {
    const time = timed(expression, makeText(length))
    if (time > slow) return length
    if (length >= 8_000 && time < quick) return null
  }
  return null
}

/**
 * Regular expressions of others, matched in time in line with the text. JavaScript's own engine tries one way after the other, so a short
 * pattern can take it years. Here all ways are followed at once, one character after the other: at most `mostStates` of them for each
 * character. What cannot be matched like this (backreferences, looking ahead or behind) is refused.
 *
 * The syntax is that of JavaScript with the flag `u`, as JSON Schema asks for. A pattern matches if it matches anywhere in the text.
 */
import * as Option from "effect/Option"

export interface LinearPattern {
  /** Whether the text contains a match. Takes up to `states` steps for each character. */
  readonly isIn: (text: string) => boolean
  readonly states: number
}

/** States of a pattern after its repetitions have been written out. */
const mostStates = 1000

/** Tests one character. */
type CharacterTest = (character: string) => boolean

type State =
  | { readonly _tag: "Take"; readonly test: CharacterTest; readonly next: number }
  | { readonly _tag: "Split"; readonly next: ReadonlyArray<number> }
  | { readonly _tag: "At"; readonly edge: "start" | "end"; readonly next: number }
  | { readonly _tag: "Matched" }

type Node =
  | { readonly _tag: "Character"; readonly test: CharacterTest }
  | { readonly _tag: "Edge"; readonly edge: "start" | "end" }
  | { readonly _tag: "Sequence"; readonly nodes: ReadonlyArray<Node> }
  | { readonly _tag: "Choice"; readonly nodes: ReadonlyArray<Node> }
  | { readonly _tag: "Repeat"; readonly node: Node; readonly least: number; readonly most: number }

/** None: the pattern is no regular expression, or cannot be matched in linear time. */
export const linearPattern = (source: string): Option.Option<LinearPattern> => {
  if (source.length > mostStates || !isRegularExpression(source)) return Option.none()
  const node = new Reader(source).read()
  const states = node === null ? null : build(node)
  if (states === null) return Option.none()
  return Option.some({ isIn: (text) => hasMatch(states, text), states: states.length })
}

const isRegularExpression = (source: string): boolean => {
  try {
    return new RegExp(source, "u").source !== ""
  } catch {
    return false
  }
}

/** Reads a pattern that is known to be a regular expression. */
class Reader {
  private readonly source: string
  private at = 0
  private isRefused = false

  constructor(source: string) {
    this.source = source
  }

  read(): Node | null {
    const node = this.choice()
    return this.isRefused || this.at < this.source.length ? null : node
  }

  private choice(): Node {
    const nodes = [this.sequence()]
    while (this.takes("|")) nodes.push(this.sequence())
    return { _tag: "Choice", nodes }
  }

  private sequence(): Node {
    const nodes: Array<Node> = []
    while (this.at < this.source.length && !/[|)]/u.test(this.next) && !this.isRefused) nodes.push(this.repeated())
    return { _tag: "Sequence", nodes }
  }

  private repeated(): Node {
    const node = this.atom()
    const found = /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/u.exec(this.source.slice(this.at, this.at + 40))
    if (found === null) return node
    const [whole, sign, least = "0", comma, most] = found
    this.at += whole.length
    if (sign === "?") return { _tag: "Repeat", node, least: 0, most: 1 }
    if (sign !== undefined) return { _tag: "Repeat", node, least: sign === "+" ? 1 : 0, most: Infinity }
    const from = Number(least)
    const to = comma === undefined ? from : most === "" ? Infinity : Number(most)
    return { _tag: "Repeat", node, least: from, most: to }
  }

  private atom(): Node {
    if (this.takes("^")) return { _tag: "Edge", edge: "start" }
    if (this.takes("$")) return { _tag: "Edge", edge: "end" }
    if (this.takes("(")) return this.group()
    return this.character()
  }

  private group(): Node {
    // A named group is a group. Every other kind that begins with a question mark looks ahead or behind.
    const kind = /^\?(?::|<[^=!>][^>]*>)/u.exec(this.source.slice(this.at, this.at + 200))
    if (kind === null && this.next === "?") return this.refuse()
    this.at += kind?.[0].length ?? 0
    const node = this.choice()
    this.takes(")")
    return node
  }

  /** One character, class or escape. JavaScript's own engine tests it, which takes one step for one character. */
  private character(): Node {
    const found = oneCharacter.exec(this.source.slice(this.at, this.at + mostStates))
    if (found === null || cannotBeLinear.test(found[0])) return this.refuse()
    this.at += found[0].length
    const own = new RegExp(`^(?:${found[0]})$`, "u")
    return { _tag: "Character", test: (character) => own.test(character) }
  }

  private refuse(): Node {
    this.isRefused = true
    return { _tag: "Sequence", nodes: [] }
  }

  private takes(sign: string): boolean {
    if (this.next !== sign) return false
    this.at++
    return true
  }

  private get next(): string {
    return this.source.charAt(this.at)
  }
}

/** A class, an escape or any other character, at the beginning of a text. */
const oneCharacter =
  /^(?:\[(?:\\[^]|[^\]\\])*\]|\\(?:u\{[^}]*\}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|[pP]\{[^}]*\}|c[a-zA-Z]|[^])|[^])/u

/** Backreferences and boundaries of words. */
const cannotBeLinear = /^\\[1-9kbB]/u

/** Null: too many states. */
const build = (node: Node): ReadonlyArray<State> | null => {
  const states: Array<State> = [{ _tag: "Matched" }]
  const add = (state: State): number => states.push(state) - 1
  /** Parts of a pattern may have no states of their own, so what is entered counts, too. */
  let entered = 0
  const isTooLarge = (): boolean => states.length > mostStates || entered > 4 * mostStates

  const enter = (each: Node, next: number): number => {
    entered++
    if (isTooLarge()) return next
    switch (each._tag) {
      case "Character":
        return add({ _tag: "Take", test: each.test, next })
      case "Edge":
        return add({ _tag: "At", edge: each.edge, next })
      case "Sequence":
        return each.nodes.reduceRight((end, inner) => enter(inner, end), next)
      case "Choice":
        return add({ _tag: "Split", next: each.nodes.map((inner) => enter(inner, next)) })
      case "Repeat":
        return repeat(each, next)
    }
  }

  const repeat = ({ least, most, node: each }: Extract<Node, { _tag: "Repeat" }>, next: number): number => {
    let end = next
    if (most === Infinity) {
      const again: Array<number> = [next]
      end = add({ _tag: "Split", next: again })
      again.push(enter(each, end))
    } else {
      for (let times = least; times < most && !isTooLarge(); times++) {
        end = add({ _tag: "Split", next: [next, enter(each, end)] })
      }
    }
    for (let times = 0; times < least && !isTooLarge(); times++) end = enter(each, end)
    return end
  }

  const start = enter(node, 0)
  add({ _tag: "Split", next: [start] })
  return isTooLarge() ? null : states
}

const hasMatch = (states: ReadonlyArray<State>, text: string): boolean => {
  const start = states.length - 1
  /** For each state, the position in the text where it was reached last. So no state is entered twice at one position. */
  const reachedAt = new Int32Array(states.length).fill(-1)
  let position = 0
  let current: Array<number> = []
  let isMatched = false

  const reach = (state: number): void => {
    const waiting = [state]
    for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
      if (reachedAt[index] === position) continue
      reachedAt[index] = position
      const found = states[index]
      if (found === undefined) continue
      if (found._tag === "Matched") isMatched = true
      else if (found._tag === "Take") current.push(index)
      else if (found._tag === "Split") waiting.push(...found.next)
      else if (position === (found.edge === "start" ? 0 : text.length)) waiting.push(found.next)
    }
  }

  reach(start)
  for (const character of text) {
    if (isMatched) return true
    const before = current
    current = []
    position += character.length
    for (const index of before) {
      const state = states[index]
      if (state?._tag === "Take" && state.test(character)) reach(state.next)
    }
    // A match may begin at every position.
    reach(start)
  }
  return isMatched
}

/**
 * What the demo model learns from a turn: a few simple English sentences about the user, by rules. It is called like any conversation model
 * (`@colloquy/core/memory`), and its operations are checked like those of any other.
 */
import type { ChatRequest } from "@colloquy/core/adapters"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const Asked = Schema.Struct({
  known_memories: Schema.Array(Schema.Struct({ number: Schema.Int, text: Schema.String })),
  messages: Schema.Array(Schema.Struct({ number: Schema.Int, role: Schema.String, text: Schema.String }))
})
type Asked = typeof Asked.Type
const decodeAsked = Schema.decodeUnknownOption(Schema.fromJsonString(Asked))

interface Fact {
  /** The sentence, with a star for the value. */
  readonly text: string
  readonly said: RegExp
  /** True if a person has only one of these, so that a new one replaces the old one. */
  readonly isSingle: boolean
}

const facts: ReadonlyArray<Fact> = [
  { text: "The user's name is *.", said: /\b(?:my name is|i am called|call me) ([\p{L}' -]+)/iu, isSingle: true },
  {
    text: "The user lives in *.",
    said: /\bi (?:now )?(?:live in|(?:have )?moved to) ([\p{L}' -]+)/iu,
    isSingle: true
  },
  { text: "The user works as *.", said: /\bi work as ([\p{L}\p{N}' -]+)/iu, isSingle: true },
  { text: "The user likes *.", said: /\bi (?:really )?(?:like|love|prefer) ([\p{L}\p{N}' -]+)/iu, isSingle: false },
  {
    text: "The user does not like *.",
    said: /\bi (?:hate|do not like|don't like) ([\p{L}\p{N}' -]+)/iu,
    isSingle: false
  },
  { text: "The user has *.", said: /\bi have ((?:an?|two|three|four) [\p{L}\p{N}' -]+)/iu, isSingle: false },
  { text: "*.", said: /\bremember that ([^.!?]+)/iu, isSingle: false }
]

/** The answer to the kernel's question after a turn; null: it is another question. */
export const memoryOperations = ({ messages, system }: ChatRequest): string | null => {
  const [first] = messages
  if (system?.startsWith("You keep the long-term memory of an assistant.") !== true || first?.role !== "user")
    return null
  const text = first.content.map((part) => (part.type === "text" ? part.text : "")).join("")
  const asked = Option.getOrElse(decodeAsked(text), (): Asked => ({ known_memories: [], messages: [] }))
  const told = asked.messages.filter(({ role }) => role === "user")
  return JSON.stringify({
    operations: told.flatMap((message) => [...forgotten(message, asked), ...learned(message, asked)])
  })
}

type Message = Asked["messages"][number]

const learned = ({ number, text }: Message, { known_memories: known }: Asked) =>
  facts.flatMap(({ isSingle, said, text: form }) => {
    const [quote, value = ""] = said.exec(text.replace(toForget, "")) ?? []
    if (quote === undefined) return []
    const fact = sentence(form.replace("*", () => value.split(/ (?:and|but|because|since|so) /u, 1)[0]?.trim() ?? ""))
    const [start = ""] = form.split("*")
    // What is known already is said again, which confirms it.
    const isKnown = known.some((memory) => memory.text === fact)
    const before = isSingle && !isKnown ? known.find((memory) => memory.text.startsWith(start)) : undefined
    const operation = before === undefined ? { op: "ADD" } : { op: "UPDATE", target: before.number }
    return [{ ...operation, text: fact, message: number, quote }]
  })

const toForget = /\bforget (?:that|about) ([^.!?]+)/iu

/** "Forget that I like tea" deletes the memory with the most common words. */
const forgotten = ({ number, text }: Message, { known_memories: known }: Asked) => {
  const [quote, wanted = ""] = toForget.exec(text) ?? []
  if (quote === undefined) return []
  const shared = (memory: string) => splitWords(memory).filter((word) => splitWords(wanted).includes(word)).length
  const [best] = known.toSorted((a, b) => shared(b.text) - shared(a.text))
  return best === undefined || shared(best.text) === 0
    ? []
    : [{ op: "DELETE", target: best.number, message: number, quote }]
}

const splitWords = (text: string): ReadonlyArray<string> =>
  (text.toLowerCase().match(/\p{L}{3,}/gu) ?? []).map((word) => word.replace(/s$/u, ""))

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

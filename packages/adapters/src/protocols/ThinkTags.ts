/**
 * Separates `<think>…</think>` at the beginning of an answer from the text after it, for local models whose server does not do so. Tags later in
 * an answer are left alone, because the answer may be about such tags. Used by `OpenAiChat`.
 */
import type { ChatEvent } from "@colloquy/core/adapters"

export interface TagSplitter {
  readonly feed: (text: string, events: Array<ChatEvent>) => void
  /** Emits the text that was held back because it could have been the beginning of a tag. */
  readonly end: (events: Array<ChatEvent>) => void
}

const open = "<think>"
const close = "</think>"
const longestLead = 64

export const makeTagSplitter = (): TagSplitter => {
  let mode: "lead" | "thinking" | "gap" | "text" = "lead"
  let held = ""

  const lead = (text: string, events: Array<ChatEvent>): void => {
    held += text
    const word = held.trimStart()
    if (word.startsWith(open)) thinkNext(word.slice(open.length), events)
    else if (!open.startsWith(word) || held.length > longestLead) sayNext(held, events)
  }

  const thinkNext = (text: string, events: Array<ChatEvent>): void => {
    mode = "thinking"
    held = ""
    think(text, events)
  }

  const think = (text: string, events: Array<ChatEvent>): void => {
    const all = held + text
    const end = all.indexOf(close)
    const sure = end === -1 ? all.length - lengthOfCommonEnd(all) : end
    if (sure > 0) events.push({ _tag: "ReasoningDelta", text: all.slice(0, sure) })
    held = all.slice(sure)
    if (end === -1) return
    mode = "gap"
    held = ""
    feed(all.slice(end + close.length), events)
  }

  const sayNext = (text: string, events: Array<ChatEvent>): void => {
    if (text === "") return
    mode = "text"
    held = ""
    events.push({ _tag: "TextDelta", text })
  }

  const feed: TagSplitter["feed"] = (text, events) => {
    if (mode === "text") sayNext(text, events)
    else if (mode === "thinking") think(text, events)
    else if (mode === "lead") lead(text, events)
    else sayNext(text.trimStart(), events)
  }

  return {
    feed,
    end: (events) => {
      if (held === "") return
      events.push(mode === "thinking" ? { _tag: "ReasoningDelta", text: held } : { _tag: "TextDelta", text: held })
      held = ""
    }
  }
}

/** How many characters at the end of the text could be the beginning of the closing tag. */
const lengthOfCommonEnd = (text: string): number => {
  for (let length = Math.min(close.length - 1, text.length); length > 0; length--) {
    if (close.startsWith(text.slice(-length))) return length
  }
  return 0
}

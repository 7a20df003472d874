/** The excerpts of documents in a prompt: each begins with a line with its file and place, such as `[guide.pdf, page 3]`. Pure. */
import type { RunInspection } from "../wire.ts"

export interface Excerpt {
  readonly source: string
  readonly text: string
}

export const excerptsIn = (prompts: RunInspection["prompts"]): ReadonlyArray<Excerpt> =>
  (prompts.at(-1)?.parts ?? [])
    .filter(({ part }) => part === "excerpts")
    .flatMap(({ messages }) => messages.flatMap(({ text }) => split(text)))

const split = (text: string): ReadonlyArray<Excerpt> => {
  const heads = [...text.matchAll(/^\[([^\]\n]+)\]$/gmu)]
  return heads.map((head, index) => ({
    source: head[1] ?? "",
    text: text.slice(head.index + head[0].length, heads[index + 1]?.index ?? text.length).trim()
  }))
}

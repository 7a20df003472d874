/** The public LoCoMo set, from a file that is not part of this project: turns of conversations as evidence for questions. */
import type { Passage } from "@colloquy/core/retrieval"
import { readFileSync } from "node:fs"
import type { Corpus, Group } from "./Corpus.ts"

export interface Turn {
  readonly dia_id: string
  readonly speaker: string
  readonly text?: string
  readonly blip_caption?: string
}

export interface Sample {
  readonly conversation: Readonly<Record<string, unknown>>
  readonly qa: ReadonlyArray<{ readonly question: string; readonly evidence?: ReadonlyArray<string> }>
}

export const locomo = (path: string): Corpus => ({
  name: "LoCoMo",
  groups: (JSON.parse(readFileSync(path, "utf8")) as ReadonlyArray<Sample>).map(sampleGroup)
})

const sampleGroup = ({ conversation, qa }: Sample): Group => {
  const sessions = Object.entries(conversation).flatMap(([key, value]) =>
    /^session_\d+$/u.test(key) && Array.isArray(value)
      ? [{ turns: value as ReadonlyArray<Turn>, said: parseDay(String(conversation[`${key}_date_time`])) }]
      : []
  )
  const places = new Map(
    sessions.flatMap(({ turns }, document) =>
      turns.map(({ dia_id: id }, ordinal): [string, string] => [id, `${document} ${ordinal}`])
    )
  )
  return {
    sources: sessions.map(({ said, turns }) => ({
      kind: "turns",
      turns: turns.map((turn) => turnPassage(turn, said))
    })),
    questions: qa.flatMap(({ evidence = [], question }) => {
      const ids = [...new Set(evidence.join(" ").match(/D\d+:\d+/gu))]
      const wanted = ids.map((id) => places.get(id))
      return ids.length === 0
        ? []
        : [
            {
              text: question,
              evidence: wanted.map(
                (place) =>
                  ({ document, hit }) =>
                    `${document} ${hit.chunk.ordinal}` === place
              )
            }
          ]
    })
  }
}

const turnPassage = ({ blip_caption: caption = "", speaker, text = "" }: Turn, said: Date | null): Passage => ({
  text: `${text} ${caption}`.trim(),
  label: speaker,
  context: "",
  said
})

/** "1:56 pm on 8 May, 2023" */
export const parseDay = (written: string): Date | null => {
  const day = /\d+ \w+, \d{4}/u.exec(written)
  return day === null ? null : new Date(`${day[0]} UTC`)
}

/**
 * Memories on the public LoCoMo set: the facts that its authors had a model write down of every turn stand for what an assistant has learned,
 * and a question finds its answer when a fact of one of its turns of evidence is among the first. Indexed as `Learning` does, and by the
 * facts alone for comparison.
 */
import { AssistantId, Principal } from "@colloquy/core"
import { AssistantStore, newId } from "@colloquy/core/adapters"
import { MemoryId, MemoryStore } from "@colloquy/core/memory"
import { prepareTurns, termsByLanguage } from "@colloquy/core/retrieval"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { readFileSync } from "node:fs"
import { parseDay, type Sample as Conversation, type Turn } from "./Locomo.ts"

interface Sample extends Conversation {
  /** Sessions, speakers, and what each said that is worth remembering, with the turns that it was said in. */
  readonly observation: Readonly<Record<string, Readonly<Record<string, ReadonlyArray<readonly [string, unknown]>>>>>
}

export interface FactRecall {
  readonly questions: number
  /** In percent of the questions. */
  readonly at5: number
  readonly at10: number
}

const turnIds = (written: unknown): ReadonlyArray<string> => JSON.stringify(written).match(/D\d+:\d+/gu) ?? []

/** Every turn with what was said and when. */
const saidIn = ({ conversation }: Sample): ReadonlyMap<string, { readonly text: string; readonly at: Date }> =>
  new Map(
    Object.entries(conversation).flatMap(([key, session]) => {
      const at = parseDay(String(conversation[`${key}_date_time`]))
      return Array.isArray(session) && at !== null
        ? (session as ReadonlyArray<Turn>).map(({ blip_caption: caption = "", dia_id: id, text = "" }) => [
            id,
            { text: `${text} ${caption}`, at }
          ])
        : []
    })
  )

const openAssistant = Effect.gen(function* () {
  const [id, at] = [yield* newId(AssistantId), new Date(0)]
  const nothing = {
    description: null,
    systemPrompt: null,
    provider: null,
    model: null,
    tools: null,
    modelOptions: null,
    metadata: null
  }
  const prompts = { factExtractionPrompt: null, memoryUpdatePrompt: null }
  const embedding = { provider: null, model: null, dimensions: 3072 }
  const assistant = { id, name: "facts", searchLimit: 10, ...nothing, ...prompts, embedding }
  yield* (yield* AssistantStore).insert({
    ...assistant,
    helpers: [],
    handoffs: [],
    version: 1,
    createdAt: at,
    updatedAt: at
  })
  return id
})

const measureSample = Effect.fnUntraced(function* (sample: Sample, withWords: boolean) {
  const store = yield* MemoryStore
  const assistantId = yield* openAssistant
  const said = saidIn(sample)
  const sources = new Map<MemoryId, ReadonlyArray<string>>()
  const facts = Object.values(sample.observation).flatMap((session) => Object.values(session).flat())
  const changes = yield* Effect.forEach(facts, ([content, written]) =>
    Effect.map(newId(MemoryId), (id) => {
      const turns = turnIds(written)
      sources.set(id, turns)
      const heard = withWords ? turns.flatMap((turn) => said.get(turn) ?? []) : []
      const context = heard.map(({ text }) => text).join(" ")
      const indexed = prepareTurns([{ text: content, label: "", context, said: heard[0]?.at ?? null }])
      const dates = {
        validFrom: null,
        validUntil: null,
        saidAt: null,
        session: null,
        speaker: null,
        createdAt: new Date(0),
        updatedAt: new Date(0)
      }
      const memory = { id, assistantId, content, metadata: null, source: null, confirmedBy: [], ...dates }
      return { _tag: "Add" as const, memory, indexed: { ...indexed, vectors: null } }
    })
  )
  yield* store.apply({ assistantId, changes, beside: [], learned: null, at: new Date(0) })
  const known = new Set([...sources.values()].flat())
  // What no fact was written of cannot be remembered.
  const asked = sample.qa
    .map(({ evidence, question }) => ({ question, wanted: turnIds(evidence ?? []).filter((turn) => known.has(turn)) }))
    .filter(({ wanted }) => wanted.length > 0)
  return yield* Effect.forEach(asked, ({ question, wanted }) =>
    Effect.map(
      store.search({ assistantId, terms: termsByLanguage(question), vector: null, limit: 10, trueAt: null }),
      (hits) => hits.findIndex(({ memory }) => sources.get(memory.id)?.some((turn) => wanted.includes(turn)) === true)
    )
  )
})

export const measureFacts = (
  path: string,
  stores: Layer.Layer<AssistantStore | MemoryStore, unknown>,
  withWords: boolean
): Effect.Effect<FactRecall, unknown> =>
  Effect.gen(function* () {
    const samples = JSON.parse(readFileSync(path, "utf8")) as ReadonlyArray<Sample>
    const places = (yield* Effect.forEach(samples, (sample) => measureSample(sample, withWords))).flat()
    const share = (most: number) =>
      (100 * places.filter((place) => place !== -1 && place < most).length) / places.length
    return { questions: places.length, at5: share(5), at10: share(10) }
  }).pipe(Principal.provide("recall"), Effect.provide(stores))

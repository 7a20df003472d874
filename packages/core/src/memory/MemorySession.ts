/**
 * Memory in a voice session. Nobody has spoken yet, so the newest memories are added to the model's instructions, and the model finds older
 * ones with the tool `search_memories`. Under `Auto` memories are learned from every exchange as from a turn.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { TokenCounterPort } from "../models/TokenCounter.ts"
import { type FrameWord, newFrameWord } from "../prompts/Frame.ts"
import type { AssistantId } from "../primitives/Ids.ts"
import { type HostedCall, type HostedTool, HostedToolFailed } from "../tools/HostedTool.ts"
import type { FollowUpOrder } from "../runs/FollowUp.ts"
import type { SessionExchange, SessionShare } from "../turns/TurnPart.ts"
import { findMemories, newestMemories } from "./MemoryIndexing.ts"
import { readKept } from "./KeptMemories.ts"
import type { MemoryRecord } from "./MemoryRecord.ts"
import type { MemorySettingsPort } from "./MemorySettings.ts"
import { chooseHits, promptOfHits, retrievedMemory } from "./Recollection.ts"

interface Surroundings {
  readonly finder: Parameters<typeof findMemories>[0]
  readonly settings: MemorySettingsPort
  readonly counter: TokenCounterPort
}

interface SessionPlan {
  readonly mode: "Readonly" | "Auto"
  readonly embedding: Parameters<typeof findMemories>[1]["target"]
}

export const makeMemorySession = (
  { counter, finder, settings }: Surroundings,
  learn: (exchange: SessionExchange) => FollowUpOrder
) => {
  const newest = Effect.fnUntraced(function* (assistantId: AssistantId) {
    const memories = yield* newestMemories(finder.store, assistantId, settings.recalled)
    const now = yield* Clock.currentTimeMillis
    const isTrue = ({ validUntil }: MemoryRecord) => validUntil === null || validUntil.getTime() > now
    const hits = memories.filter(isTrue).map((memory) => ({ memory, score: 1, lexical: null, semantic: null }))
    return sessionText(chooseHits(hits, settings, counter), yield* newFrameWord)
  })

  const search = Effect.fnUntraced(function* (plan: SessionPlan, query: Schema.Json | undefined, call: HostedCall) {
    if (typeof query !== "string") return yield* new HostedToolFailed({ message: "Give a query, as text." })
    const trueAt = new Date(yield* Clock.currentTimeMillis)
    const { assistantId } = call
    const wanted = {
      assistantId,
      text: query,
      target: plan.embedding,
      limit: settings.recalled * 3,
      trueAt,
      beginCharge: call.beginCharge
    }
    const hits = yield* Effect.mapError(
      findMemories(finder, wanted),
      () => new HostedToolFailed({ message: "The notes could not be searched. Answer without them." })
    )
    const chosen = chooseHits(hits, settings, counter)
    const before = readKept(call.kept())?.retrieved ?? []
    // What was found is kept with the answer, so that it is shown only as long as its memories exist.
    if (chosen.length > 0) {
      call.keep({ retrieved: [...before, ...chosen.map((hit) => retrievedMemory(hit, null))], learns: false })
    }
    return sessionText(chosen, yield* newFrameWord) ?? "Nothing was found."
  })

  const tool = (plan: SessionPlan): HostedTool => ({
    definition: searchTool,
    run: ({ query }, call) => search(plan, query, call)
  })

  return Effect.fnUntraced(function* (plan: SessionPlan, assistantId: AssistantId) {
    const share: SessionShare = {
      tools: [tool(plan)],
      instructions: yield* newest(assistantId),
      ...(plan.mode === "Auto" ? { followUps: (exchange: SessionExchange) => [learn(exchange)] } : {})
    }
    return share
  })
}

const sessionText = (hits: Parameters<typeof promptOfHits>[0], word: FrameWord): string | null => {
  if (hits.length === 0) return null
  const { intro, items } = promptOfHits(hits, false, word)
  return [intro, ...items.map(({ text }) => text)].join("\n")
}

export const memoryTool = "search_memories"

const searchTool = {
  name: memoryTool,
  description: "Finds notes from earlier conversations with this user by words and meaning.",
  parameters: {
    type: "object",
    properties: { query: { type: "string", description: "What to look for" } },
    required: ["query"]
  }
}

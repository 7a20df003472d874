/** Events of a log as a later reader gets them: without texts of memories and documents that were deleted since. */
import { map, type NonEmptyReadonlyArray } from "effect/Array"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Principal } from "../access/Principal.ts"
import type { PromptPart } from "../prompts/PromptPart.ts"
import type { StoreUnavailable } from "../primitives/StoreUnavailable.ts"
import {
  type KeptTexts,
  outputOfDeleted,
  type RecalledTexts,
  type ShownByPart,
  type TextsShown
} from "../threads/RecalledTexts.ts"
import type { TurnEvent } from "./TurnEvent.ts"

type Parts = ReadonlyMap<string, KeptTexts>
type Events = NonEmptyReadonlyArray<TurnEvent>

/**
 * For one reader, who passes the events in order: a search tool keeps what it found before its output is logged. `before` reads what was kept
 * before the first of them.
 */
export const makeShownEvents = (
  texts: typeof RecalledTexts.Service,
  before: Effect.Effect<ReadonlyArray<TurnEvent>, StoreUnavailable, Principal>
): ((events: Events) => Effect.Effect<Events, StoreUnavailable, Principal>) => {
  const hidden = new Set<string>()
  let unread: typeof before | null = before
  return (events) => {
    const parts = texts.parts()
    if (!events.some((event) => mayKeepTexts(event, parts))) return Effect.succeed(events)
    const earlier = unread ?? Effect.succeed([])
    unread = null
    return Effect.flatMap(earlier, (kept) =>
      texts.reading((shownByPart) => {
        const shown = (event: TurnEvent) => shownEvent(event, parts, shownByPart, hidden)
        kept.forEach(shown)
        return map(events, shown)
      })
    )
  }
}

const mayKeepTexts = (event: TurnEvent, parts: Parts): boolean =>
  "part" in event
    ? parts.has(event.part)
    : event._tag === "HostedResult" ||
      ("supplements" in event && Object.keys(event.supplements ?? {}).some((part) => parts.has(part)))

const shownEvent = (event: TurnEvent, parts: Parts, shownByPart: ShownByPart, hidden: Set<string>): TurnEvent => {
  switch (event._tag) {
    case "PartTold":
      return { ...event, data: shownByPart(event.part)?.value(event.data) ?? event.data }
    case "PartKept": {
      const shown = shownByPart(event.part)
      if (shown === undefined) return event
      if (!shown.isWhole(event.value)) for (const tool of parts.get(event.part)?.tools ?? []) hidden.add(tool)
      return { ...event, value: shown.value(event.value) }
    }
    case "PartRecalled": {
      const shown = shownByPart(event.part)
      return shown === undefined ? event : { ...event, prompt: event.prompt.map((part) => existing(part, shown)) }
    }
    case "HostedResult":
      return hidden.has(event.toolName) ? { ...event, output: outputOfDeleted } : event
    default:
      return "supplements" in event && event.supplements !== undefined
        ? { ...event, supplements: shownValues(event.supplements, shownByPart) }
        : event
  }
}

const existing = (part: PromptPart, { exists }: TextsShown): PromptPart => ({
  ...part,
  items: part.items.filter(({ source }) => source !== undefined && exists(source))
})

const shownValues = (values: Schema.JsonObject, shownByPart: ShownByPart): Schema.JsonObject =>
  Object.fromEntries(Object.entries(values).map(([part, value]) => [part, shownByPart(part)?.value(value) ?? value]))

/**
 * Keeps how much of the vendor's audio the client has played. The audio of all items is played without gaps, beginning when it arrives; if the
 * client reports its playback, the report counts instead. The realtime mappings use it to say how much of an interrupted answer was heard.
 */
import { type AudioFormat, bytesPerSecond, type Cut } from "@colloquy/core/realtime"
import { decodedLength } from "./AudioSlice.ts"

interface PlayedItem {
  readonly itemId: string
  generatedMillis: number
  /** The time at which all audio of the item will have been played. */
  endsAt: number
  /** The client's last report, in milliseconds of this item. */
  reportedMillis: number | null
  /** How much counts as heard after an interruption. No more audio of the item is played. */
  cutMillis: number | null
}

export interface PlayClock {
  /** False: the item was interrupted before, so its audio must be dropped. */
  readonly add: (itemId: string, base64: Uint8Array, now: number) => boolean
  /** The client has played this much of the item. */
  readonly report: (itemId: string, millis: number, now: number) => void
  /** Whether the client has ever reported its playback. */
  readonly hasReports: () => boolean
  /** Interrupts everything that is not played yet, and always the item `generating`, of which more audio is on its way. In the order of playing. */
  readonly cutAll: (now: number, generating: string | null, client: "present" | "gone") => ReadonlyArray<Cut>
  /** Interrupts one item at a known time. Null: nothing changes. */
  readonly cutAt: (itemId: string, millis: number) => Cut | null
  readonly isCut: (itemId: string) => boolean
  /** Whether audio of the item has arrived. */
  readonly has: (itemId: string) => boolean
}

/** If the client's reports stop for longer than this after the end of an item, the item counts as played. */
const reportPatience = 1000

export const makePlayClock = (format: AudioFormat): PlayClock => {
  const bytesPerMilli = bytesPerSecond(format) / 1000
  const items = new Map<string, PlayedItem>()
  let last: PlayedItem | null = null
  let isReporting = false

  const openItem = (itemId: string, now: number): PlayedItem => {
    const known = last?.itemId === itemId ? last : items.get(itemId)
    if (known !== undefined) return known
    const startsAt = last === null || last.cutMillis !== null ? now : Math.max(now, last.endsAt)
    const item = { itemId, generatedMillis: 0, endsAt: startsAt, reportedMillis: null, cutMillis: null }
    items.set(itemId, item)
    last = item
    return item
  }

  const countHeard = (item: PlayedItem, now: number, client: "present" | "gone"): number => {
    const { endsAt, generatedMillis, reportedMillis } = item
    const generated = Math.floor(generatedMillis)
    const unplayed = Math.min(Math.max(0, endsAt - now), generatedMillis)
    const counted = Math.floor(generatedMillis - unplayed)
    if (reportedMillis === null) return counted
    const isStale = client === "present" && now > endsAt + reportPatience
    return isStale ? generated : Math.min(Math.floor(reportedMillis), generated)
  }

  const cut = (item: PlayedItem, heardMillis: number): Cut => {
    item.cutMillis = heardMillis
    return { itemId: item.itemId, heardMillis, generatedMillis: Math.floor(item.generatedMillis) }
  }

  return {
    add: (itemId, base64, now) => {
      const item = openItem(itemId, now)
      if (item.cutMillis !== null) return false
      const millis = decodedLength(base64) / bytesPerMilli
      item.generatedMillis += millis
      item.endsAt = Math.max(item.endsAt, now) + millis
      return true
    },
    report: (itemId, millis, now) => {
      isReporting = true
      const item = items.get(itemId)
      if (item === undefined || item.cutMillis !== null) return
      let isBefore = true
      let endsAt = now
      for (const each of items.values()) {
        if (each === item) {
          isBefore = false
          each.reportedMillis = millis
          each.endsAt = now + Math.max(0, each.generatedMillis - millis)
        } else if (isBefore) {
          each.reportedMillis = each.generatedMillis
        } else {
          each.endsAt = Math.max(endsAt, now) + each.generatedMillis
        }
        endsAt = each.endsAt
      }
    },
    hasReports: () => isReporting,
    cutAll: (now, generating, client) => {
      const cuts: Array<Cut> = []
      for (const item of items.values()) {
        if (item.cutMillis !== null) continue
        const heardMillis = cuts.length === 0 ? countHeard(item, now, client) : 0
        if (heardMillis < Math.floor(item.generatedMillis) || item.itemId === generating)
          cuts.push(cut(item, heardMillis))
      }
      return cuts
    },
    cutAt: (itemId, millis) => {
      const item = items.get(itemId)
      if (item === undefined) return null
      const before = item.cutMillis ?? Math.floor(item.generatedMillis)
      if (item.cutMillis !== null && millis >= before) return null
      item.cutMillis = Math.floor(Math.min(Math.max(0, millis), before))
      return { itemId, heardMillis: item.cutMillis, generatedMillis: before }
    },
    has: (itemId) => items.has(itemId),
    isCut: (itemId) => (items.get(itemId)?.cutMillis ?? null) !== null
  }
}

/** The requests of the last 24 hours that named an idempotency key, in memory. */
import type { OwnerId } from "@colloquy/core"
import type { AnsweredOnce } from "@colloquy/core/adapters"
import * as Duration from "effect/Duration"
import type { State, UsedKey } from "./State.ts"

const lifetime = Duration.toMillis("24 hours")

const keyName = (ownerId: OwnerId, key: string): string => JSON.stringify([ownerId, key])

export const findKey = (state: State, ownerId: OwnerId, key: string, now: number): UsedKey | undefined => {
  const entry = state.repeated.get(keyName(ownerId, key))
  return entry !== undefined && now - entry.at < lifetime ? entry.value : undefined
}

export const keepKey = (state: State, ownerId: OwnerId, key: string, now: number, value: UsedKey): string => {
  const name = keyName(ownerId, key)
  state.repeated.set(name, { at: now, value })
  return name
}

export const keepAnswer = (state: State, ownerId: OwnerId, once: AnsweredOnce | null, now: number): void => {
  if (once === null) return
  const { answer, fingerprint, key } = once
  keepKey(state, ownerId, key, now, { _tag: "Answered", fingerprint, answer })
}

/** `KeyStore` in memory. Keys are found by the prefix of their hash; with 128 bits, two keys never have the same prefix by chance. */
import { Principal } from "@colloquy/core"
import { KeyStore, lookupLength } from "@colloquy/core/adapters"
import * as Option from "effect/Option"
import { oldestFirst } from "./AssistantStore.ts"
import { ownedStep, ownedWrite, step, type State } from "./State.ts"

export const keyStore = (state: State): typeof KeyStore.Service =>
  KeyStore.of({
    insert: (record) =>
      ownedWrite(state, "KeyStore.insert", () => {
        state.keys.set(record.hash.slice(0, lookupLength), record)
      }).pipe(Principal.provide(record.ownerId)),
    findByHashPrefix: (prefix) => step(() => Option.fromNullishOr(state.keys.get(prefix))),
    list: ownedStep((ownerId) =>
      [...state.keys.values()].filter((record) => record.ownerId === ownerId).sort(oldestFirst)
    ),
    revoke: (id, at) =>
      ownedStep((ownerId) => {
        for (const [prefix, record] of state.keys) {
          if (record.id !== id || record.ownerId !== ownerId) continue
          if (record.revokedAt === null) state.keys.set(prefix, { ...record, revokedAt: at })
          return true
        }
        return false
      })
  })

/** `SealedSecretStore` in memory. */
import type { OwnerId } from "@colloquy/core"
import { SealedSecretStore } from "@colloquy/core/wings"
import { ownedStep, ownedWrite, type State } from "./State.ts"

/** The key of a secret. It begins with the owner, as all keys of records with an owner do. */
const key = (ownerId: OwnerId, name: string): string => JSON.stringify([ownerId, name])

export const sealedSecretStore = (state: State): typeof SealedSecretStore.Service =>
  SealedSecretStore.of({
    find: (name) => ownedStep((ownerId) => state.sealedSecrets.get(key(ownerId, name)) ?? null),
    put: (name, sealed) =>
      ownedWrite(state, "SealedSecretStore.put", (ownerId) => void state.sealedSecrets.set(key(ownerId, name), sealed)),
    remove: (name) => ownedStep((ownerId) => state.sealedSecrets.delete(key(ownerId, name)))
  })

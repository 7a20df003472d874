import type * as Layer from "effect/Layer"

/** What `postgres`, `pglite` and `inMemory` give: opened with the kernel and closed with it. For hosts with Effect: a layer of every store. */
export interface Store extends Layer.Layer<never, unknown> {}

export type RoomNeeds = unknown

export type PortServices = unknown

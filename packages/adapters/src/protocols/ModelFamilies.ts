/**
 * What is known of a model by its name alone, for whole families of models: data that a provider brings along and a host may replace. The
 * live list and the host's own table beat it; it is there for the first turn, and for what a vendor's list does not tell.
 */
import type { ModelInfo } from "@colloquy/core"

/** The first pattern that fits decides. */
export type ModelFamilies = ReadonlyArray<readonly [pattern: RegExp, known: Partial<ModelInfo>]>

export const familyOf = (model: string, families: ModelFamilies): Partial<ModelInfo> | undefined =>
  families.find(([pattern]) => pattern.test(model))?.[1]

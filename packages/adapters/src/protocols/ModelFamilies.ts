/**
 * What is known about a model by its name alone, for whole families of models. A provider brings this data, and a host may replace it. It
 * serves the first turn, and fields that the vendor's list of models lacks. The list and the host's own table take precedence.
 */
import type { ModelInfo } from "@colloquy/core"

/** The first matching pattern counts. */
export type ModelFamilies = ReadonlyArray<readonly [pattern: RegExp, known: Partial<ModelInfo>]>

export const findFamily = (model: string, families: ModelFamilies): Partial<ModelInfo> | undefined =>
  families.find(([pattern]) => pattern.test(model))?.[1]

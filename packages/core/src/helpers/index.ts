/**
 * The wing `helpers`: assistants that an assistant may ask in a turn, as tools. Off until a host adds `Helpers.layer()` over its kernel.
 */
import * as Layer from "effect/Layer"
import { wingLayers } from "../primitives/WingLayer.ts"
import { makeHelpersPart } from "./HelpersPart.ts"
import { HelperSettings } from "./HelperSettings.ts"

export { helpersPartName } from "./HelpersPart.ts"
export type { HelperSettings } from "./HelperSettings.ts"

/** Over `Kernel.layer`: `Helpers.layer()`. */
export const Helpers = wingLayers(HelperSettings, Layer.effectDiscard(makeHelpersPart), { positive: ["timeout"] })

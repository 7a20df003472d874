/**
 * One entry for each vendor: how to build its provider against a server of ours, and how its wire says what the contract of chat drivers scripts.
 * The files in `vendors/` hold the wires. To add a vendor, write one such file and add it to the list.
 */
import type { Vendor } from "./Vendor.ts"
import { aiSdk } from "./vendors/AiSdk.ts"
import { anthropic } from "./vendors/Anthropic.ts"
import { effectAi } from "./vendors/EffectAi.ts"
import { gemini } from "./vendors/Gemini.ts"
import { openAi, openAiCompatible, openRouter } from "./vendors/OpenAiChat.ts"
import { openAiResponses } from "./vendors/OpenAiResponses.ts"

export const vendors: ReadonlyArray<Vendor> = [
  openAi,
  openAiCompatible,
  openRouter,
  openAiResponses,
  anthropic,
  gemini,
  aiSdk,
  effectAi
]

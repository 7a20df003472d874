/** A model of the AI SDK that speaks to our server: the whole path, with the vendor's own reading of the wire of OpenAI Chat. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import * as Redacted from "effect/Redacted"
import * as AiSdk from "../../../src/providers/AiSdk.ts"
import type { Vendor } from "../Vendor.ts"
import { openAi } from "./OpenAiChat.ts"

export const aiSdk: Vendor = {
  ...openAi,
  name: "a model of the AI SDK",
  readByLibrary: true,
  provider: ({ server, apiKey: ofTheHost, fetch }) =>
    AiSdk.provider({
      id: "ai-sdk",
      languageModel: (model, ofTheCustomer) => {
        const key = ofTheCustomer ?? ofTheHost
        return createOpenAICompatible({
          name: "server",
          baseURL: `${server}/v1`,
          includeUsage: true,
          supportsStructuredOutputs: true,
          ...(fetch === undefined ? {} : { fetch }),
          ...(key === undefined ? {} : { apiKey: Redacted.value(key) })
        })(model)
      }
    })
}

/**
 * The providers that the environment names. The demo model is always among them, and the default as long as no other one is chosen; its
 * typed answers are there until a real provider of them is named.
 */
import * as Anthropic from "@colloquy/adapters/anthropic"
import * as Gemini from "@colloquy/adapters/gemini"
import * as OpenAi from "@colloquy/adapters/openai"
import * as OpenAiCompatible from "@colloquy/adapters/openai-compatible"
import * as OpenRouter from "@colloquy/adapters/openrouter"
import * as SystemOne from "@colloquy/adapters/system-one"
import type { Provider } from "@colloquy/core"
import type { ProvidersOptions } from "@colloquy/core/adapters"
import { demoModelName, demoProvider } from "./DemoModel.ts"
import { demoTypedProvider } from "./DemoTypedModel.ts"
import type { Settings, Vendor, VendorSettings } from "./Settings.ts"

const makers: { readonly [Name in Vendor]: (settings: VendorSettings) => Provider } = {
  OPENAI: OpenAi.provider,
  ANTHROPIC: Anthropic.provider,
  GEMINI: Gemini.provider,
  OPENROUTER: OpenRouter.provider,
  GROQ: (settings) => OpenAiCompatible.provider({ ...OpenAiCompatible.groq, ...settings }),
  DEEPSEEK: (settings) => OpenAiCompatible.provider({ ...OpenAiCompatible.deepSeek, ...settings }),
  XAI: (settings) => OpenAiCompatible.provider({ ...OpenAiCompatible.xAi, ...settings }),
  TOGETHER: (settings) => OpenAiCompatible.provider({ ...OpenAiCompatible.together, ...settings }),
  OLLAMA: (settings) => OpenAiCompatible.provider({ ...OpenAiCompatible.ollama, ...settings }),
  VLLM: (settings) => OpenAiCompatible.provider({ ...OpenAiCompatible.vLlm, ...settings }),
  LMSTUDIO: (settings) => OpenAiCompatible.provider({ ...OpenAiCompatible.lmStudio, ...settings }),
  TYPEDPROVIDER: SystemOne.provider
}

export const providersOf = (settings: Settings): ProvidersOptions => {
  const named = [...settings.vendors].map(([vendor, given]) => makers[vendor](given))
  const { defaultModel, defaultProvider } = settings
  const demos = settings.vendors.has("TYPEDPROVIDER") ? [demoProvider()] : [demoProvider(), demoTypedProvider()]
  return {
    providers: [...demos, ...named],
    defaults:
      defaultModel === null
        ? { provider: "demo", model: demoModelName }
        : { provider: defaultProvider ?? named.find(converses)?.id ?? "demo", model: defaultModel }
  }
}

const converses = ({ chat }: Provider): boolean => chat !== undefined

/** Undefined when the default is one of the providers; else what to do about it. */
export const defaultProblem = ({ defaults, providers }: ProvidersOptions): string | undefined => {
  const ids = providers.filter(converses).map((provider) => provider.id)
  if (!ids.includes(defaults.provider)) return `DEFAULT_LLM_PROVIDER must be one of ${ids.join(", ")}`
  if (defaults.provider !== "demo" || defaults.model === demoModelName) return undefined
  return `DEFAULT_MODEL_NAME must be ${demoModelName}, or the key or address of a provider must be set`
}

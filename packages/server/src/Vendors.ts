/**
 * The providers that the environment names. The demo model is always among them, and is the default while no other one is chosen. Its typed
 * answers and videos exist only until a real provider of them is named. If the program espeak-ng exists, it speaks unless a vendor does.
 */
import * as Anthropic from "@colloquy/adapters/anthropic"
import * as Cohere from "@colloquy/adapters/cohere"
import * as Deepgram from "@colloquy/adapters/deepgram"
import * as ElevenLabs from "@colloquy/adapters/elevenlabs"
import * as Gemini from "@colloquy/adapters/gemini"
import * as OpenAi from "@colloquy/adapters/openai"
import * as OpenAiCompatible from "@colloquy/adapters/openai-compatible"
import * as OpenRouter from "@colloquy/adapters/openrouter"
import * as SystemOne from "@colloquy/adapters/system-one"
import * as Voyage from "@colloquy/adapters/voyage"
import type { Provider } from "@colloquy/core"
import type { ProvidersOptions } from "@colloquy/core/adapters"
import { espeak } from "./EspeakVoice.ts"
import { demoModelName, demoProvider } from "./demo/DemoModel.ts"
import { demoTypedProvider } from "./demo/DemoTypedModel.ts"
import { demoVideo } from "./demo/DemoVideo.ts"
import { withVersion } from "./RerankVendors.ts"
import type { Settings, Vendor, VendorSettings } from "./Settings.ts"

const makers: { readonly [Name in Exclude<Vendor, "JINA">]: (settings: VendorSettings) => Provider } = {
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
  TYPEDPROVIDER: SystemOne.provider,
  ELEVENLABS: ElevenLabs.provider,
  DEEPGRAM: Deepgram.provider,
  COHERE: Cohere.provider,
  VOYAGE: (settings) => Voyage.provider(withVersion(settings))
}

export const providersOf = (settings: Settings): ProvidersOptions => {
  const named = [...settings.vendors].flatMap(([vendor, given]) => (vendor === "JINA" ? [] : [makers[vendor](given)]))
  const { defaultModel, defaultProvider } = settings
  const demo = settings.vendors.has("OPENROUTER") ? demoProvider() : { ...demoProvider(), video: demoVideo() }
  const demos = settings.vendors.has("TYPEDPROVIDER") ? [demo] : [demo, demoTypedProvider()]
  return {
    providers: [...demos, ...named, ...(settings.hasEspeak ? [espeak] : [])],
    defaults:
      defaultModel === null
        ? { provider: "demo", model: demoModelName }
        : { provider: defaultProvider ?? named.find(converses)?.id ?? "demo", model: defaultModel }
  }
}

/** Notes for the operator about missing speech input or output; none when both exist. */
export const voiceNotes = ({ providers }: ProvidersOptions): ReadonlyArray<string> => [
  ...(providers.some(({ speechToText }) => speechToText !== undefined)
    ? []
    : ["No speech-to-text: set the key of OPENAI, ELEVENLABS, DEEPGRAM or XAI."]),
  ...(providers.some(({ textToSpeech }) => textToSpeech !== undefined)
    ? []
    : ["No text-to-speech: set the key of OPENAI, ELEVENLABS or DEEPGRAM, or install espeak-ng."])
]

const converses = ({ chat }: Provider): boolean => chat !== undefined

/** Undefined when the embedding of the environment is possible; otherwise what to do. */
export const embeddingProblem = ({ embedding }: Settings, { providers }: ProvidersOptions): string | undefined => {
  if (embedding === null) return undefined
  const able = providers.filter((provider) => provider.embedding !== undefined)
  const provider = able.find(({ id }) => id === embedding.provider)
  if (provider === undefined) {
    const ids = able.map(({ id }) => id)
    return `DEFAULT_EMBEDDING_PROVIDER must be ${ids.length === 0 ? "a provider with embeddings; none is set" : `one of ${ids.join(", ")}`}`
  }
  return embedding.model === null && provider.defaultEmbedding === undefined
    ? `DEFAULT_EMBEDDING_MODEL must be set for ${provider.id}`
    : undefined
}

/** Undefined when the default provider exists; otherwise what to do. */
export const defaultProblem = ({ defaults, providers }: ProvidersOptions): string | undefined => {
  const ids = providers.filter(converses).map((provider) => provider.id)
  if (!ids.includes(defaults.provider)) return `DEFAULT_LLM_PROVIDER must be one of ${ids.join(", ")}`
  if (defaults.provider !== "demo" || defaults.model === demoModelName) return undefined
  return `DEFAULT_MODEL_NAME must be ${demoModelName}, or the key or address of a provider must be set`
}

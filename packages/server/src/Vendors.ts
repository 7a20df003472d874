/** The vendors whose keys or addresses the environment may name, by the prefix of their variables, with what each of them offers. */
import * as Anthropic from "@colloquy/adapters/anthropic"
import * as Cohere from "@colloquy/adapters/cohere"
import * as Deepgram from "@colloquy/adapters/deepgram"
import * as ElevenLabs from "@colloquy/adapters/elevenlabs"
import * as Gemini from "@colloquy/adapters/gemini"
import * as OpenAi from "@colloquy/adapters/openai"
import * as OpenAiCompatible from "@colloquy/adapters/openai-compatible"
import * as OpenRouter from "@colloquy/adapters/openrouter"
import * as Rerankers from "@colloquy/adapters/rerankers"
import * as SystemOne from "@colloquy/adapters/system-one"
import * as Voyage from "@colloquy/adapters/voyage"
import { brave, exa, searXng, tavily } from "@colloquy/adapters/web-search"
import type { Provider } from "@colloquy/core"
import type { RerankerPort } from "@colloquy/core/memory"
import type { WebSearchPort } from "@colloquy/core/web-search"
import type * as Redacted from "effect/Redacted"

export interface VendorSettings {
  readonly apiKey?: Redacted.Redacted<string>
  readonly baseUrl?: string
}

interface Offer {
  readonly provider?: (settings: VendorSettings) => Provider
  readonly reranker?: (settings: VendorSettings, model: string | null) => RerankerPort
  readonly search?: (settings: VendorSettings) => WebSearchPort
  /** What it is for, in Markdown. */
  readonly about: string
}

const chats = (make: (settings: VendorSettings) => Provider, id: string, more = ""): Offer => ({
  provider: make,
  about: `provider \`${id}\`${more}`
})

const compatible = (dialect: Parameters<typeof OpenAiCompatible.provider>[0]): Offer =>
  chats(
    (settings) => OpenAiCompatible.provider({ ...dialect, ...settings }),
    dialect.id,
    ", over OpenAI's dialect; for a server of your own the address is enough"
  )

/** An address without a path gets the path of the API's first version. */
const withVersion = <A extends VendorSettings>(settings: A): A =>
  settings.baseUrl !== undefined && new URL(settings.baseUrl).pathname === "/"
    ? { ...settings, baseUrl: `${new URL(settings.baseUrl).origin}/v1` }
    : settings

const searches = (make: (settings: VendorSettings) => WebSearchPort, name: string): Offer => ({
  search: make,
  about: `${name}, an engine for the [web search](web-search.md)`
})

const reranks = "; reranks for [Memory Pro](memory.md); the address is an origin"
const speaks = "; speech to text and text to speech ([voice](voice.md))"

const offers = {
  OPENAI: chats(OpenAi.provider, "openai", speaks),
  ANTHROPIC: chats(Anthropic.provider, "anthropic"),
  GEMINI: chats(Gemini.provider, "gemini"),
  OPENROUTER: chats(OpenRouter.provider, "router"),
  GROQ: compatible(OpenAiCompatible.groq),
  DEEPSEEK: compatible(OpenAiCompatible.deepSeek),
  XAI: compatible(OpenAiCompatible.xAi),
  TOGETHER: compatible(OpenAiCompatible.together),
  OLLAMA: compatible(OpenAiCompatible.ollama),
  VLLM: compatible(OpenAiCompatible.vLlm),
  LMSTUDIO: compatible(OpenAiCompatible.lmStudio),
  TYPEDPROVIDER: chats(SystemOne.provider, "typedprovider", " of [typed answers](answers.md)"),
  COHERE: {
    ...chats(Cohere.provider, "cohere", `: embeddings${reranks}`),
    reranker: (settings, model) => Rerankers.cohere({ ...settings, model: model ?? "rerank-v3.5" })
  },
  VOYAGE: {
    ...chats((settings) => Voyage.provider(withVersion(settings)), "voyage", `: embeddings${reranks}`),
    reranker: (settings, model) => Rerankers.voyage({ ...withVersion(settings), model: model ?? "rerank-2.5" })
  },
  JINA: {
    reranker: (settings, model) =>
      Rerankers.jina({ ...withVersion(settings), model: model ?? "jina-reranker-v2-base-multilingual" }),
    about: `Jina${reranks}`
  },
  ELEVENLABS: chats(ElevenLabs.provider, "elevenlabs", speaks),
  DEEPGRAM: chats(Deepgram.provider, "deepgram", speaks),
  TAVILY: searches(tavily, "Tavily"),
  EXA: searches(exa, "Exa"),
  BRAVE: searches(brave, "Brave"),
  // A self-hosted server has no usual address: it has to be named.
  SEARXNG: searches(
    ({ baseUrl = "", ...settings }) => searXng({ ...settings, baseUrl }),
    "SearXNG, a server of your own"
  )
} satisfies Record<string, Offer>

export type Vendor = keyof typeof offers

export const vendors: ReadonlyMap<Vendor, Offer> = new Map(
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of the object above, which has no others
  Object.entries(offers) as ReadonlyArray<[Vendor, Offer]>
)

/**
 * What a model may say, in words that no vendor owns, and what must be heard of it. `chatDriverSuite` runs the tables over a driver; the
 * test of the driver puts each `Said` on the wire of its vendor.
 */
import type { ToolCall, Usage } from "@colloquy/core"
import type { ChatRequest, FinishReason, ModelErrorReason } from "@colloquy/core/adapters"
import { sampleUsage } from "./Samples.ts"

/** One thing that the model says. Pieces of a call name the call by its `slot`, so that calls can interleave. */
export type Said =
  | { readonly text: string }
  | { readonly reasoning: string }
  | { readonly refusal: string }
  | { readonly call: { readonly slot: number; readonly id: string; readonly name: string } }
  | { readonly arguments: { readonly slot: number; readonly text: string } }
  /** The provider breaks off with an error inside the answer. */
  | { readonly error: "overloaded" }
  /** The end of the answer, with everything that the vendor sends there. */
  | { readonly finish: FinishReason; readonly usage: Usage | null }

export const refusalReasons = [
  "rate_limited",
  "overloaded",
  "auth",
  "quota",
  "context_too_long",
  "model_not_found"
] as const satisfies ReadonlyArray<ModelErrorReason>

/** The reasons with which a vendor refuses in the scenarios. */
export type RefusedWith = (typeof refusalReasons)[number]

/** The answer to one request. */
export type ChatAnswer =
  | {
      readonly says: ReadonlyArray<Said>
      /** The bytes come in pieces of this size: 1 cuts every character and every field. */
      readonly pieces?: number
      /** The connection breaks after so many of the things said. */
      readonly breaksAfter?: number
    }
  | { readonly refusesWith: RefusedWith; readonly headers?: { readonly [name: string]: string } }

/** What a driver tells of one answer. */
export interface HeardAnswer {
  readonly text: string
  readonly reasoning: string
  readonly calls: ReadonlyArray<ToolCall>
  readonly finish: FinishReason | null
  readonly usage: Usage | null
  readonly error: ModelErrorReason | null
}

/** One answer of a vendor, and the events that a driver must make of it. */
export interface ChatScenario {
  readonly name: string
  readonly request?: Partial<ChatRequest>
  readonly answer: Extract<ChatAnswer, { readonly says: unknown }>
  /** Only the given fields are compared. */
  readonly heard: Partial<HeardAnswer>
}

const usage: Usage = { ...sampleUsage(12, 7), cachedInputTokens: 4, reasoningTokens: 3 }
const stop: Said = { finish: "stop", usage }
const toCalls: Said = { finish: "tool_calls", usage }
const timeCall = { slot: 0, id: "call_time", name: "get_time" }
const zoneCall = { slot: 1, id: "call_zone", name: "get_zone" }
const timeTool = { name: "get_time", description: "Tells the time", parameters: null }
const part = (slot: number, text: string): Said => ({ arguments: { slot, text } })

export const answersInWords: ReadonlyArray<ChatScenario> = [
  {
    name: "text",
    answer: { says: [{ text: "Good morning." }, stop] },
    heard: { text: "Good morning.", reasoning: "", calls: [], finish: "stop", usage, error: null }
  },
  {
    name: "text in ten deltas",
    answer: { says: [...Array.from("0123456789", (text) => ({ text })), stop] },
    heard: { text: "0123456789", finish: "stop", error: null }
  },
  {
    name: "text that the network cuts at every byte",
    answer: { says: [{ text: "Grüße, 世界 🌍" }, { text: "\n\ndata: no event" }, stop], pieces: 1 },
    heard: { text: "Grüße, 世界 🌍\n\ndata: no event", finish: "stop", error: null }
  },
  {
    name: "reasoning, then text",
    request: { thinking: {} },
    answer: { says: [{ reasoning: "The sun " }, { reasoning: "is up." }, { text: "Good morning." }, stop] },
    heard: { reasoning: "The sun is up.", text: "Good morning.", finish: "stop", error: null }
  },
  {
    name: "text without the reasoning that the request excludes",
    request: { thinking: { excludeReasoning: true } },
    answer: { says: [{ reasoning: "The sun is up." }, { text: "Good morning." }, stop] },
    heard: { reasoning: "", text: "Good morning.", finish: "stop", error: null }
  },
  {
    name: "a refusal",
    answer: { says: [{ refusal: "I cannot help with that." }, { finish: "filtered", usage }] },
    heard: { finish: "filtered", error: null }
  },
  {
    name: "an answer that reaches its length",
    answer: { says: [{ text: "Once upon a" }, { finish: "length", usage }] },
    heard: { text: "Once upon a", finish: "length", usage, error: null }
  }
]

export const answersWithCalls: ReadonlyArray<ChatScenario> = [
  {
    name: "one call in two pieces",
    request: { tools: [timeTool] },
    answer: { says: [{ call: timeCall }, part(0, '{"zone":'), part(0, '"UTC"}'), toCalls] },
    heard: {
      text: "",
      calls: [{ id: "call_time", name: "get_time", arguments: '{"zone":"UTC"}' }],
      finish: "tool_calls",
      usage,
      error: null
    }
  },
  {
    name: "two calls whose pieces interleave",
    answer: {
      says: [
        { text: "Let me look." },
        { call: timeCall },
        { call: zoneCall },
        part(0, '{"zone":'),
        part(1, '{"city":"Bern"'),
        part(0, '"UTC"}'),
        part(1, "}"),
        toCalls
      ]
    },
    heard: {
      text: "Let me look.",
      calls: [
        { id: "call_time", name: "get_time", arguments: '{"zone":"UTC"}' },
        { id: "call_zone", name: "get_zone", arguments: '{"city":"Bern"}' }
      ],
      finish: "tool_calls",
      error: null
    }
  },
  {
    name: "a call without arguments",
    answer: { says: [{ call: timeCall }, toCalls] },
    heard: { calls: [{ id: "call_time", name: "get_time", arguments: "{}" }], finish: "tool_calls", error: null }
  }
]

export const unfinishedAnswers: ReadonlyArray<ChatScenario> = [
  {
    name: "breaks off with an error",
    answer: { says: [{ text: "Good mor" }, { error: "overloaded" }] },
    heard: { text: "Good mor", finish: null, error: "overloaded" }
  },
  {
    name: "loses its connection",
    answer: { says: [{ text: "Good mor" }, { text: "ning." }, stop], breaksAfter: 1 },
    heard: { text: "Good mor", finish: null }
  },
  {
    name: "just ends",
    answer: { says: [{ text: "Good mor" }] },
    heard: { text: "Good mor", finish: null }
  }
]

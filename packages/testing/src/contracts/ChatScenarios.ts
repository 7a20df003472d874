/**
 * What a model may say, in words that no vendor owns, and what must be heard of it. `chatDriverSuite` runs the tables over a driver; the
 * test of the driver puts each `Said` on the wire of its vendor.
 */
import type { ToolCall, ToolDefinition, Usage } from "@colloquy/core"
import type { ChatRequest, FinishReason, ModelErrorReason } from "@colloquy/core/adapters"
import type { Sent } from "./DriverChecks.ts"
import { sampleUsage } from "./Samples.ts"

/** One thing that the model says. Pieces of a call name the call by its `slot`, so that calls can interleave. */
export type Said =
  | { readonly text: string }
  | { readonly reasoning: string }
  | { readonly refusal: string }
  | { readonly call: { readonly slot: number; readonly id: string; readonly name: string } }
  | { readonly arguments: { readonly slot: number; readonly text: string } }
  /** The provider breaks off with an error inside the answer, whose words contain `sk-of-the-host` and `a secret`. */
  | { readonly error: "overloaded" }
  /** The end of the answer, with everything that the vendor sends there. A wire that tells which model answered names `model-1-2026`. */
  | { readonly finish: FinishReason; readonly usage: Usage | null }

export const refusalReasons = [
  "rate_limited",
  "overloaded",
  "auth",
  "quota",
  "context_too_long",
  "model_not_found",
  "invalid_request",
  "unknown"
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

type TokenDetails = "cachedInputTokens" | "cacheWriteTokens" | "reasoningTokens"

/** What a driver tells of one answer. */
export interface HeardAnswer {
  readonly text: string
  readonly reasoning: string
  /** Which kinds of deltas followed each other. Deltas without text do not count. */
  readonly kinds: ReadonlyArray<"text" | "reasoning">
  /** Without their ids: a driver may give ids of its own. */
  readonly calls: ReadonlyArray<Omit<ToolCall, "id">>
  readonly finish: FinishReason | null
  readonly usage: Omit<Usage, TokenDetails> | null
  readonly usageDetails: Pick<Usage, TokenDetails> | null
  readonly model: string | null
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

/** The two fields of `HeardAnswer` that tell what an answer used. */
export const usageFields = ({ cachedInputTokens, cacheWriteTokens, reasoningTokens, ...usage }: Usage) => ({
  usage,
  usageDetails: { cachedInputTokens, cacheWriteTokens, reasoningTokens }
})

const used: Usage = { ...sampleUsage(12, 7), cachedInputTokens: 4, reasoningTokens: 3 }
const { usage, usageDetails } = usageFields(used)
const stop: Said = { finish: "stop", usage: used }
const toCalls: Said = { finish: "tool_calls", usage: used }
const timeCall = { slot: 0, id: "call_time", name: "get_time" }
const zoneCall = { slot: 1, id: "call_zone", name: "get_zone" }
const timeTool: ToolDefinition = { name: "get_time", description: "Tells the time", parameters: null }
const part = (slot: number, text: string): Said => ({ arguments: { slot, text } })

export const answersInWords: ReadonlyArray<ChatScenario> = [
  {
    name: "text",
    answer: { says: [{ text: "Good morning." }, stop] },
    heard: { text: "Good morning.", reasoning: "", calls: [], finish: "stop", usage, error: null }
  },
  {
    name: "cached and reasoning tokens",
    answer: { says: [{ text: "Good morning." }, stop] },
    heard: { usageDetails, finish: "stop", error: null }
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
    heard: {
      reasoning: "The sun is up.",
      text: "Good morning.",
      kinds: ["reasoning", "text"],
      finish: "stop",
      error: null
    }
  },
  {
    name: "reasoning before each text",
    request: { thinking: {} },
    answer: {
      says: [{ reasoning: "The sun is up." }, { text: "Good " }, { reasoning: "Or down?" }, { text: "morning." }, stop]
    },
    heard: {
      kinds: ["reasoning", "text", "reasoning", "text"],
      finish: "stop",
      error: null
    }
  },
  {
    name: "text without the reasoning that the request excludes",
    request: { thinking: { excludeReasoning: true } },
    answer: { says: [{ reasoning: "The sun is up." }, { text: "Good morning." }, stop] },
    heard: { reasoning: "", text: "Good morning.", finish: "stop", error: null }
  },
  {
    name: "a refusal",
    answer: { says: [{ refusal: "I cannot help with that." }, { finish: "filtered", usage: used }] },
    heard: { finish: "filtered", error: null }
  },
  {
    name: "an answer that reaches its length",
    answer: { says: [{ text: "Once upon a" }, { finish: "length", usage: used }] },
    heard: { text: "Once upon a", finish: "length", usage, error: null }
  },
  {
    name: "the model that answered",
    answer: { says: [{ text: "Good morning." }, stop] },
    heard: { text: "Good morning.", model: "model-1-2026", finish: "stop", error: null }
  }
]

export const answersWithCalls: ReadonlyArray<ChatScenario> = [
  {
    name: "one call in two pieces",
    request: { tools: [timeTool] },
    answer: { says: [{ call: timeCall }, part(0, '{"zone":'), part(0, '"UTC"}'), toCalls] },
    heard: {
      text: "",
      calls: [{ name: "get_time", arguments: '{"zone":"UTC"}' }],
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
        { name: "get_time", arguments: '{"zone":"UTC"}' },
        { name: "get_zone", arguments: '{"city":"Bern"}' }
      ],
      finish: "tool_calls",
      error: null
    }
  },
  {
    name: "a call without arguments",
    answer: { says: [{ call: timeCall }, toCalls] },
    heard: { calls: [{ name: "get_time", arguments: "{}" }], finish: "tool_calls", error: null }
  }
]

/** What is said here must not stand in the error. */
const half = "A secret: it is"

export const unfinishedAnswers: ReadonlyArray<ChatScenario> = [
  {
    name: "breaks off with an error",
    answer: { says: [{ text: half }, { error: "overloaded" }] },
    heard: { text: half, finish: null, error: "overloaded" }
  },
  {
    name: "loses its connection",
    answer: { says: [{ text: half }, { text: " noon." }, stop], breaksAfter: 1 },
    heard: { text: half, finish: null }
  },
  {
    name: "just ends",
    answer: { says: [{ text: half }] },
    heard: { text: half, finish: null }
  }
]

const tideTool: ToolDefinition = {
  name: "get_tide",
  description: "Tells the tides of a harbour",
  parameters: { type: "object", properties: { harbour: { type: "string" }, unit_of_height: { type: "string" } } }
}

const asks = (text: string): ChatRequest["messages"][number] => ({ role: "user", content: [{ type: "text", text }] })

/** A request with a text in every place. */
export const wholeRequest = {
  system: "You keep the lighthouse.",
  tools: [tideTool],
  messages: [
    asks("Grüße 🌊 When is high water?"),
    {
      role: "assistant",
      content: "Let me look it up.",
      toolCalls: [{ id: "call_tide", name: "get_tide", arguments: '{"harbour":"Brest"}' }],
      providerData: null
    },
    { role: "tool", toolCallId: "call_tide", toolName: "get_tide", output: "At half past nine" },
    asks("And low water?")
  ]
} satisfies Partial<ChatRequest>

/** Its texts outside the messages. */
export const sentAnywhere: ReadonlyArray<Sent> = [
  ["the system prompt", "You keep the lighthouse."],
  ["the name of a tool", "get_tide"],
  ["the description of a tool", "Tells the tides of a harbour"],
  ["a parameter of a tool", "unit_of_height"]
]

/** Those of the messages. */
export const sentInOrder: ReadonlyArray<Sent> = [
  ["the question", "Grüße 🌊 When is high water?"],
  ["the text of an answer", "Let me look it up."],
  ["the arguments of a call", "Brest"],
  ["the output of a tool", "At half past nine"],
  ["the last question", "And low water?"]
]

/** Each option with what it is added to. */
export const requestOptions: ReadonlyArray<{
  readonly option: "toolChoice" | "maxOutputTokens" | "jsonOutput" | "sampling" | "thinking"
  readonly without: Partial<ChatRequest>
  readonly fields: Partial<ChatRequest>
}> = [
  { option: "toolChoice", without: { tools: [tideTool] }, fields: { toolChoice: "required" } },
  { option: "maxOutputTokens", without: {}, fields: { maxOutputTokens: 4321 } },
  { option: "jsonOutput", without: {}, fields: { jsonOutput: true } },
  { option: "sampling", without: {}, fields: { sampling: { temperature: 0.25 } } },
  { option: "thinking", without: {}, fields: { thinking: { effort: "high" } } }
]

/** The bytes of a picture, and their base64. */
export const picture = { bytes: Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10]), base64: "iVBORw0KGgo=" }

/**
 * What every chat provider must do, in neutral words: a script of what the model says, and what must be heard. `Vendors.ts` renders the
 * script on each vendor's wire; `ChatProviders.integration.test.ts` runs the whole table. A row here is a test for every vendor.
 */
import { type ToolCall, type ToolDefinition, type Usage } from "@colloquy/core"
import {
  type ChatRequest,
  type ContentPart,
  describeModel,
  type FinishReason,
  type ModelErrorReason,
  noUsage
} from "@colloquy/core/adapters"

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

export type RefusedWith = "rate_limited" | "overloaded" | "auth" | "quota" | "context_too_long" | "model_not_found"

/** One reply of the provider. */
export type Answer =
  | {
      readonly says: ReadonlyArray<Said>
      /** The bytes come in pieces of this size: 1 cuts every character and every `data:`. */
      readonly pieces?: number
      /** The connection breaks after so many of the things said. */
      readonly breaksAfter?: number
    }
  | { readonly refusesWith: RefusedWith; readonly headers?: { readonly [name: string]: string } }

export interface Heard {
  readonly text: string
  readonly reasoning: string
  readonly calls: ReadonlyArray<ToolCall>
  readonly finish: FinishReason | null
  readonly usage: Usage | null
  readonly error: ModelErrorReason | null
}

export interface Scenario {
  readonly name: string
  readonly request?: Partial<ChatRequest>
  /** One for each request that must be made. */
  readonly answers: ReadonlyArray<Answer>
  /** Only the given fields are compared. */
  readonly heard: Partial<Heard>
}

export const usage: Usage = { ...noUsage, inputTokens: 12, outputTokens: 7, cachedInputTokens: 4, reasoningTokens: 3 }

const stop: Said = { finish: "stop", usage }
const timeCall = { slot: 0, id: "call_time", name: "get_time" }
const zoneCall = { slot: 1, id: "call_zone", name: "get_zone" }

export const scenarios: ReadonlyArray<Scenario> = [
  {
    name: "text",
    answers: [{ says: [{ text: "Good morning." }, stop] }],
    heard: { text: "Good morning.", reasoning: "", calls: [], finish: "stop", usage, error: null }
  },
  {
    name: "text in ten deltas",
    answers: [
      {
        says: Array.from("0123456789")
          .map((text): Said => ({ text }))
          .concat(stop)
      }
    ],
    heard: { text: "0123456789", finish: "stop", error: null }
  },
  {
    name: "text that the network cuts at every byte",
    answers: [{ says: [{ text: "Grüße, 世界 🌍" }, { text: "\n\ndata: no event" }, stop], pieces: 1 }],
    heard: { text: "Grüße, 世界 🌍\n\ndata: no event", finish: "stop", error: null }
  },
  {
    name: "one tool call",
    request: { tools: [{ name: "get_time", description: "Tells the time", parameters: null }] },
    answers: [
      {
        says: [
          { call: timeCall },
          { arguments: { slot: 0, text: '{"zone":' } },
          { arguments: { slot: 0, text: '"UTC"}' } },
          { finish: "tool_calls", usage }
        ]
      }
    ],
    heard: {
      text: "",
      calls: [{ id: "call_time", name: "get_time", arguments: '{"zone":"UTC"}' }],
      finish: "tool_calls",
      usage,
      error: null
    }
  },
  {
    name: "two tool calls whose arguments interleave",
    answers: [
      {
        says: [
          { text: "Let me look." },
          { call: timeCall },
          { call: zoneCall },
          { arguments: { slot: 0, text: '{"zone":' } },
          { arguments: { slot: 1, text: '{"city":"Bern"' } },
          { arguments: { slot: 0, text: '"UTC"}' } },
          { arguments: { slot: 1, text: "}" } },
          { finish: "tool_calls", usage }
        ]
      }
    ],
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
    name: "a tool call without arguments",
    answers: [{ says: [{ call: timeCall }, { finish: "tool_calls", usage }] }],
    heard: { calls: [{ id: "call_time", name: "get_time", arguments: "{}" }], finish: "tool_calls", error: null }
  },
  {
    name: "reasoning, then text",
    request: { thinking: {} },
    answers: [{ says: [{ reasoning: "The sun " }, { reasoning: "is up." }, { text: "Good morning." }, stop] }],
    heard: { reasoning: "The sun is up.", text: "Good morning.", finish: "stop", error: null }
  },
  {
    name: "reasoning that nobody wants to see",
    request: { thinking: { excludeReasoning: true } },
    answers: [{ says: [{ reasoning: "The sun is up." }, { text: "Good morning." }, stop] }],
    heard: { reasoning: "", text: "Good morning.", finish: "stop", error: null }
  },
  {
    name: "a refusal",
    answers: [{ says: [{ refusal: "I cannot help with that." }, { finish: "filtered", usage }] }],
    heard: { finish: "filtered", error: null }
  },
  {
    name: "an answer that reaches its length",
    answers: [{ says: [{ text: "Once upon a" }, { finish: "length", usage }] }],
    heard: { text: "Once upon a", finish: "length", usage, error: null }
  },
  {
    name: "too many requests, then an answer",
    answers: [{ refusesWith: "rate_limited", headers: { "retry-after-ms": "0" } }, { says: [{ text: "Hi" }, stop] }],
    heard: { text: "Hi", finish: "stop", error: null }
  },
  {
    name: "an overloaded provider, then an answer",
    answers: [{ refusesWith: "overloaded", headers: { "retry-after": "0" } }, { says: [{ text: "Hi" }, stop] }],
    heard: { text: "Hi", finish: "stop", error: null }
  },
  {
    name: "a pause that is too long to wait for",
    answers: [{ refusesWith: "rate_limited", headers: { "retry-after": "3600" } }],
    heard: { text: "", error: "rate_limited" }
  },
  {
    name: "a provider that says not to try again",
    answers: [{ refusesWith: "overloaded", headers: { "x-should-retry": "false" } }],
    heard: { error: "overloaded" }
  },
  { name: "a wrong key", answers: [{ refusesWith: "auth" }], heard: { error: "auth" } },
  { name: "no credit", answers: [{ refusesWith: "quota" }], heard: { error: "quota" } },
  {
    name: "a conversation that is too long",
    answers: [{ refusesWith: "context_too_long" }],
    heard: { error: "context_too_long" }
  },
  { name: "an unknown model", answers: [{ refusesWith: "model_not_found" }], heard: { error: "model_not_found" } },
  {
    name: "an error inside the answer",
    answers: [{ says: [{ text: "Good mor" }, { error: "overloaded" }] }],
    heard: { text: "Good mor", finish: null, error: "overloaded" }
  },
  {
    name: "a connection that breaks inside the answer",
    answers: [{ says: [{ text: "Good mor" }, { text: "ning." }, stop], breaksAfter: 1 }],
    heard: { text: "Good mor", finish: null, error: "cut_off" }
  },
  {
    name: "an answer that just ends",
    answers: [{ says: [{ text: "Good mor" }] }],
    heard: { text: "Good mor", finish: null, error: "cut_off" }
  }
]

export const model = "model-1"

/** A request of which nothing but a question is known. */
export const request = (provider: string, given: Partial<ChatRequest> = {}): ChatRequest => ({
  provider,
  model,
  info: describeModel({ name: model, provider, modelType: "llm" }),
  system: null,
  tools: [],
  toolChoice: "auto",
  messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
  thinking: null,
  routing: null,
  jsonOutput: false,
  maxOutputTokens: null,
  apiKey: null,
  conversationId: "conversation-1",
  ...given
})

const timeTool: ToolDefinition = {
  name: "get_time",
  description: "Tells the time",
  parameters: { type: "object", properties: { zone: { type: "string" } }, required: ["zone"] },
  strict: true
}

const file = (type: "image" | "audio" | "video" | "file", mediaType: string, filename: string): ContentPart => ({
  type,
  mediaType,
  filename,
  source: { bytes: new TextEncoder().encode(filename) }
})

const everyFile: ReadonlyArray<ContentPart> = [
  { type: "text", text: "What are these?" },
  file("image", "image/png", "a.png"),
  { type: "image", mediaType: "image/jpeg", filename: null, source: { url: "https://example.org/b.jpg" } },
  file("file", "application/pdf", "c.pdf"),
  { type: "file", mediaType: "application/pdf", filename: "d.pdf", source: { url: "https://example.org/d.pdf" } },
  file("audio", "audio/mpeg", "e.mp3"),
  file("audio", "audio/ogg", "f.ogg"),
  file("video", "video/mp4", "g.mp4"),
  file("file", "text/csv", "h.csv"),
  file("file", "application/zip", "i.zip")
]

const noFiles = { supportsVision: false, supportsPdfInput: false, supportsAudioInput: false, supportsVideoInput: false }

/** The history of a conversation with two tool rounds; its beginnings are the earlier requests of the same turn. */
export const toolRounds: ChatRequest["messages"] = [
  { role: "user", content: [{ type: "text", text: "What time is it in Bern and in Rome?" }] },
  {
    role: "assistant",
    content: "",
    toolCalls: [
      { id: "call_1", name: "get_time", arguments: '{"zone":"Europe/Zurich"}' },
      { id: "call_2", name: "get_time", arguments: "{broken" }
    ],
    providerData: null
  },
  { role: "tool", toolCallId: "call_1", toolName: "get_time", output: "10:00" },
  { role: "tool", toolCallId: "call_2", toolName: "get_time", output: "The arguments are no JSON." },
  {
    role: "assistant",
    content: "Once more for Rome.",
    toolCalls: [{ id: "call_3", name: "get_time", arguments: "{}" }],
    providerData: null
  },
  { role: "tool", toolCallId: "call_3", toolName: "get_time", output: '{"time":"10:00"}' }
]

/** Requests whose wire form is kept as a snapshot for every vendor. */
export const requests = (provider: string): { readonly [name: string]: ChatRequest } => ({
  "a question": request(provider),
  "everything at once": request(provider, {
    system: "Be brief.",
    tools: [timeTool, { name: "now", description: null, parameters: null }],
    toolChoice: "none",
    jsonOutput: true,
    maxOutputTokens: 500
  }),
  "every kind of file": request(provider, { messages: [{ role: "user", content: everyFile }] }),
  "files that the model cannot read": request(provider, {
    info: describeModel({ name: model, provider, modelType: "llm", ...noFiles }),
    messages: [{ role: "user", content: everyFile }]
  }),
  "two tool rounds": request(provider, { tools: [timeTool], messages: toolRounds }),
  "thinking with an effort": request(provider, { thinking: { effort: "max" } }),
  "thinking with a budget": request(provider, { thinking: { budgetTokens: 2048 }, maxOutputTokens: 8192 }),
  "no thinking": request(provider, { thinking: { budgetTokens: 0 } }),
  "thinking as the provider likes": request(provider, { thinking: {} }),
  "hidden thinking": request(provider, { thinking: { effort: "low", excludeReasoning: true } }),
  "data of another provider": request(provider, {
    messages: [
      { role: "user", content: [{ type: "text", text: "Hello" }] },
      {
        role: "assistant",
        content: "Hi",
        toolCalls: [],
        providerData: { provider: "somebody else", data: { secret: true } }
      },
      { role: "user", content: [{ type: "text", text: "And?" }] }
    ]
  })
})

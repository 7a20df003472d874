/** Requests of which every chat provider's wire form is kept, and the values that scripted answers of its tests have. */
import type { ToolDefinition, Usage } from "@colloquy/core"
import { type ChatRequest, type ContentPart, describeModel, noUsage } from "@colloquy/core/adapters"

export const usage: Usage = { ...noUsage, inputTokens: 12, outputTokens: 7, cachedInputTokens: 4, reasoningTokens: 3 }

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
  "every setting of an answer": request(provider, {
    tools: [timeTool],
    toolChoice: "required",
    maxOutputTokens: 500,
    sampling: { temperature: 0.2, topP: 0.9, stop: ["END", "\n\n"], seed: 7, parallelToolCalls: false }
  }),
  "one named tool, and more than some vendors take": request(provider, {
    tools: [timeTool],
    toolChoice: { name: "get_time" },
    sampling: { temperature: 1.5, stop: ["1", "2", "3", "4", "5", "6"], parallelToolCalls: true }
  }),
  "every setting of an answer, of a model that reasons": request(provider, {
    info: describeModel({ name: model, provider, modelType: "llm", supportsThinking: true }),
    thinking: { effort: "high" },
    tools: [timeTool],
    toolChoice: "required",
    sampling: { temperature: 0.2, topP: 0.9, stop: ["END"], seed: 7, parallelToolCalls: false }
  }),
  "settings of tools without tools": request(provider, {
    toolChoice: "required",
    sampling: { parallelToolCalls: false }
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

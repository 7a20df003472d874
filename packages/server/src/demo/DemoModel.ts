/**
 * A model that needs no network, for a first look before a provider is configured. It says that it is a demo, and shows everything that a
 * client supports: it streams, reasons aloud on request, calls the hosted clock, and calls a client's tool when its name is mentioned.
 */
import type { Provider, ToolDefinition } from "@colloquy/core"
import type { ChatDriver, ChatEvent, ChatRequest } from "@colloquy/core/adapters"
import { describeModel, noUsage } from "@colloquy/core/adapters"
import { draw } from "./DemoPainter.ts"
import { memoryOperations } from "./DemoMemory.ts"
import { demoObject } from "./DemoObject.ts"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

/** `demo-1`: the model that answers when no vendor is set. It needs no network. */
export const demoModelName = "demo-1"

/** `pace` is the time between two words. */
export const demoProvider = (pace: Duration.Input = "30 millis"): Provider => ({
  id: "demo",
  chat: demoDriver(pace),
  // The demo ignores all other options, such as the amount of thinking and the routing.
  wire: ({ jsonOutput, output, thinking }) => ({ jsonOutput, output, thinks: thinking !== null }),
  image: {
    generate: ({ model, prompt }) =>
      Effect.map(
        Effect.promise(() => draw(prompt)),
        (image) => ({ images: [image], usage: { ...noUsage, costUsd: 0 }, model })
      )
  },
  describe: (model) => (model === demoPainter.name ? demoPainter : description),
  listModels: Effect.succeed([description, demoPainter])
})

/** Draws the words of the prompt. */
const demoPainter = describeModel({
  name: "demo-painter",
  provider: "demo",
  modelType: "image",
  displayName: "Demo painter (no network)",
  supportsVision: false,
  details: { supported_parameters: {} }
})

const description = describeModel({
  name: demoModelName,
  provider: "demo",
  modelType: "llm",
  displayName: "Demo (no network)",
  contextLimit: 32_000,
  maxOutputTokens: 4000,
  supportsTools: true,
  supportsJsonOutput: true,
  supportsThinking: true,
  supportsVision: false
})

const demoDriver =
  (pace: Duration.Input): ChatDriver =>
  (request) => {
    const operations = memoryOperations(request)
    const { text, call } = operations === null ? reply(request) : { text: operations }
    const thoughts = request.thinking === null || operations !== null ? "" : reasoning
    const spoken: ReadonlyArray<ChatEvent> = [
      ...splitWords(thoughts).map((word) => ({ _tag: "ReasoningDelta" as const, text: word })),
      ...splitWords(text).map((word) => ({ _tag: "TextDelta" as const, text: word }))
    ]
    const end: ReadonlyArray<ChatEvent> = [
      ...(call === undefined ? [] : callEvents(request, call)),
      { _tag: "Usage", usage: countUsage(request, thoughts, text) },
      { _tag: "Finished", reason: call === undefined ? "stop" : "tool_calls", model: null, providerData: null }
    ]
    return Stream.fromIterable(spoken).pipe(
      Stream.rechunk(1),
      // Nobody follows an answer from which the kernel learns, so its words need no pauses.
      Stream.tap(() => (operations === null ? Effect.sleep(pace) : Effect.void)),
      Stream.concat(Stream.fromIterable(end))
    )
  }

const reasoning = "I am a demo, so there is nothing to think about, but I show how it looks."

/** Each word with the space before it. */
export const splitWords = (text: string): ReadonlyArray<string> => (text === "" ? [] : text.split(/(?<=\S)(?=\s)/u))

interface Reply {
  readonly text: string
  readonly call?: ToolDefinition
}

/** The demo's answer, by a few simple rules. The first one that matches decides. */
const reply = (request: ChatRequest): Reply => {
  if (request.messages.at(-1)?.role === "tool") return { text: afterTool(request) }
  const asked = lastQuestion(request)
  const tool = request.toolChoice === "auto" ? wantedTool(request.tools, asked) : undefined
  if (tool !== undefined) return { text: "One moment.", call: tool }
  const count = /\bcount to (\d{1,4})\b/i.exec(asked)?.[1]
  if (count !== undefined) {
    const numbers = Array.from({ length: Math.min(Number(count), 1000) }, (_, index) => index + 1)
    return { text: numbers.join(" ") }
  }
  if (/\bmarkdown\b/i.test(asked)) return { text: everyForm }
  if (request.output !== undefined) {
    return { text: JSON.stringify(demoObject(request.output.schema, asked.slice(0, 60))) }
  }
  if (request.jsonOutput) return { text: JSON.stringify({ demo: true, you_said: asked }) }
  return { text: recalled(request) + (quoted(request, asked) ?? hello(asked)) }
}

/** Every form of Markdown that a page should be able to show. */
const everyForm = [
  "## A sample of markdown",
  "Words can be **strong**, *soft* or `code`, and [link somewhere](https://example.com).",
  "- one item\n- another one\n  1. with a list inside",
  "| model | window |\n| --- | ---: |\n| demo-1 | 32000 |",
  '```ts\n// Greets by name.\nconst greet = (name: string) => `Hello, ${name}!`\nconsole.log(greet("Ada"), 42)\n```',
  "> What is quoted stands apart.",
  "<script>alert('this stays text')</script>"
].join("\n\n")

const hello = (asked: string): string =>
  `I am Colloquy's demo model: I run inside the server and know nothing. You said: "${asked.slice(0, 200)}". ` +
  `Ask me "what time is it", tell me to "count to 50" or, with images switched on, to "draw a fox", ask for "markdown", or name one of your tools. ` +
  `For real answers set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY, and DEFAULT_MODEL_NAME, ` +
  `and start the server again.`

const afterTool = ({ messages }: ChatRequest): string =>
  messages
    .slice(messages.findLastIndex(({ role }) => role === "assistant") + 1)
    .flatMap((message) => (message.role === "tool" ? [`${message.toolName} says: ${message.output}`] : []))
    .join("\n")

/** The user's own words come after the recalled texts. */
const lastQuestion = (request: ChatRequest): string => lastTexts(request).at(-1) ?? ""

const lastTexts = (request: ChatRequest): ReadonlyArray<string> => {
  const message = request.messages.findLast((each) => each.role === "user")
  return message?.content.flatMap((part) => (part.type === "text" ? [part.text] : [])) ?? []
}

/** Memories in the form in which the kernel tells them: `[1] (noted 2026-05-03) The user lives in Oslo.` */
const recalled = (request: ChatRequest): string => {
  const notes = lastTexts(request).slice(0, -1).join("\n")
  const found = [...notes.matchAll(/^\[\d+\] \(noted [^()\n]*\) (.+)$/gmu)].map(([, note]) => note)
  return found.length === 0 ? "" : `I remember: ${found.join(" ")} `
}

/** The line of the excerpts that has most words of the question, with the marker of its excerpt. Null: none has any. */
const quoted = (request: ChatRequest, asked: string): string | null => {
  const wanted = new Set(longWords(asked))
  let best = { marker: "", count: 0, sentence: "" }
  let marker = ""
  for (const line of lastTexts(request).slice(0, -1).join("\n").split("\n")) {
    const begun = /^\[d\d{1,3}\]/u.exec(line)?.[0]
    if (begun !== undefined || line.startsWith("<")) marker = begun ?? ""
    else if (marker !== "" && !line.startsWith("#")) {
      const count = longWords(line).filter((word) => wanted.has(word)).length
      if (count > best.count) best = { marker, count, sentence: line.trim().slice(0, 300) }
    }
  }
  return best.count === 0 ? null : `Your document says: “${best.sentence}” ${best.marker}`
}

const longWords = (text: string): ReadonlyArray<string> =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 3)

/** The tool that the question asks for, by a few simple rules. */
export const wantedTool = (tools: ReadonlyArray<ToolDefinition>, asked: string): ToolDefinition | undefined => {
  const name = wishes.find(([wish]) => wish.test(asked))?.[1]
  const wished = tools.find((tool) => tool.name === name)
  return wished ?? tools.find((tool) => asked.toLowerCase().includes(tool.name.toLowerCase()))
}

const wishes: ReadonlyArray<readonly [wish: RegExp, tool: string]> = [
  [/\bwhat time is it\b|\bwhat's the time\b/i, "server_clock"],
  [/\b(make|draw|film)\b.{0,200}\bvideo\b/i, "generate_video"],
  [/\b(draw|paint)\b/i, "generate_image"],
  [/\bsearch\b/i, "web_search"]
]

const callEvents = (request: ChatRequest, tool: ToolDefinition): ReadonlyArray<ChatEvent> => {
  const id = `call_${crypto.randomUUID()}`
  const args = JSON.stringify(sampleArguments(tool, lastQuestion(request)))
  return [
    { _tag: "ToolCallStart", id, name: tool.name },
    { _tag: "ToolCallDelta", id, arguments: args },
    { _tag: "ToolCallReady", call: { id, name: tool.name, arguments: args } }
  ]
}

/** A value for everything that the tool requires: enough to show arguments. */
export const sampleArguments = ({ parameters }: ToolDefinition, asked: string): Schema.Json =>
  demoObject({ type: "object", required: [], ...parameters }, asked)

const countUsage = (request: ChatRequest, thoughts: string, text: string) => {
  const size = (said: string) => Math.ceil(said.length / 4)
  const input = request.messages.reduce((sum, message) => sum + size(JSON.stringify(message)), 0)
  const thought = size(thoughts)
  return { ...noUsage, inputTokens: input, outputTokens: size(text) + thought, reasoningTokens: thought }
}

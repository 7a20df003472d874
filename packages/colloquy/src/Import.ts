/**
 * Conversations of other systems as messages for `threads.import`: exports of OpenAI (messages of the Assistants API, items of conversations and
 * responses, messages of chat completions) and of Anthropic (events of sessions of managed agents, messages of its API, conversations of
 * claude.ai), `UIMessage` of the AI SDK, messages of LangGraph and LangChain. Pure functions over plain JSON: what
 * is no message is left out, and so are system prompts, which belong to an assistant. A file is told in words. A call whose output is
 * missing gets one that says so, unless it is at the end.
 */
import type { ImportedMessage } from "@colloquy/core"
import {
  asText,
  Conversation,
  type Call,
  type Fields,
  functionCall,
  isObject,
  listOrEmpty,
  objectsIn,
  plainText,
  readTime,
  type Said,
  textOr
} from "./ImportedConversation.ts"

export { fromChatGpt, listEntries } from "./ChatGptExport.ts"

/** An export is a list, or a page with a list under `data`, `items` or `messages`. */
const readEntries = (value: unknown): ReadonlyArray<Fields> => {
  if (!isObject(value)) return objectsIn(value)
  return objectsIn(value["data"] ?? value["items"] ?? value["messages"] ?? value["output"])
}

const timeIn = (entry: Fields | undefined): string | undefined =>
  readTime(entry?.["created_at"]) ?? readTime(entry?.["processed_at"])

/** OpenAI lists the messages of a thread newest first, unless it was asked otherwise; of events, either order can be asked for. */
const oldestFirst = (entries: ReadonlyArray<Fields>): ReadonlyArray<Fields> => {
  const times = entries.flatMap((entry) => timeIn(entry) ?? [])
  const [first, last] = [times[0], times.at(-1)]
  return first !== undefined && last !== undefined && first > last ? entries.toReversed() : entries
}

/** Messages of the Assistants API, items of conversations and responses, messages of chat completions; also several of them in one list. */
export const fromOpenAi = (exported: unknown): ReadonlyArray<ImportedMessage> => {
  const conversation = new Conversation()
  for (const entry of oldestFirst(readEntries(exported))) {
    const { content, created_at, role, tool_calls, type } = entry
    if (type === "function_call" || type === "custom_tool_call") {
      conversation.call(
        functionCall(entry["call_id"] ?? entry["id"], entry["name"], entry["arguments"] ?? entry["input"])
      )
    } else if (type === "function_call_output" || type === "custom_tool_call_output") {
      conversation.output(
        textOr(entry["call_id"], ""),
        typeof entry["output"] === "string" ? entry["output"] : plainText(entry["output"]) || asText(entry["output"])
      )
    } else if (role === "tool") conversation.output(textOr(entry["tool_call_id"], ""), plainText(content))
    else if (role === "user" || role === "assistant") {
      const calls = objectsIn(tool_calls).map((call) => {
        const made = isObject(call["function"]) ? call["function"] : {}
        return functionCall(call["id"], made["name"], made["arguments"])
      })
      const words = plainText(content)
      conversation.say(role, words === "" ? null : words, readTime(created_at), role === "assistant" ? calls : [])
    }
  }
  return conversation.messages()
}

/** The names that Anthropic has for roles: those of events, of messages, and of conversations of claude.ai. */
const anthropicRoles: Readonly<Record<string, Said["role"]>> = {
  "user.message": "user",
  "agent.message": "assistant",
  user: "user",
  assistant: "assistant",
  human: "user"
}

const resultText = ({ content, is_error }: Fields): string => {
  const words = plainText(content) || (typeof content === "object" && content !== null ? asText(content) : "")
  return is_error === true ? `Error: ${words}` : words
}

/** A result names its call by one of these. */
const resultOfCall = (entry: Fields): string =>
  textOr(entry["tool_use_id"] ?? entry["custom_tool_use_id"] ?? entry["mcp_tool_use_id"], "")

/**
 * The events of a session of managed agents, the messages of the Messages API, or a conversation of an export of claude.ai (`chat_messages`).
 * What agents below the first one said is left out, and so is thinking.
 */
export const fromAnthropic = (exported: unknown): ReadonlyArray<ImportedMessage> => {
  const conversation = new Conversation()
  const chat = isObject(exported) ? exported["chat_messages"] : undefined
  for (const entry of oldestFirst(readEntries(chat ?? exported))) {
    const kind = textOr(entry["type"], "")
    if (typeof entry["session_thread_id"] === "string") continue
    if (kind.endsWith("tool_use")) conversation.call(functionCall(entry["id"], entry["name"], entry["input"]))
    else if (kind.endsWith("tool_result")) conversation.output(resultOfCall(entry), resultText(entry))
    else if (kind === "user.tool_confirmation" && entry["result"] === "deny")
      conversation.output(resultOfCall(entry), `The call was denied. ${textOr(entry["deny_message"], "")}`.trim())
    else {
      const role =
        anthropicRoles[kind === "" || kind === "message" ? textOr(entry["role"] ?? entry["sender"], "") : kind]
      if (role === undefined) continue
      const blocks = objectsIn(entry["content"])
      for (const block of blocks)
        if (textOr(block["type"], "").endsWith("tool_result"))
          conversation.output(resultOfCall(block), resultText(block))
      const calls = blocks
        .filter(({ type }) => textOr(type, "").endsWith("tool_use"))
        .map(({ id, input, name }) => functionCall(id, name, input))
      const files = [...objectsIn(entry["attachments"]), ...objectsIn(entry["files"])].map(
        ({ file_name }) => `[A file was here: ${textOr(file_name, "file")}]`
      )
      const said = plainText(entry["content"]) || textOr(entry["text"], "")
      const words = [said, ...files].filter((text) => text !== "").join("\n\n")
      conversation.say(role, words === "" ? null : words, timeIn(entry), role === "assistant" ? calls : [])
    }
  }
  return conversation.messages()
}

/** The part of the AI SDK's `UIMessage` that is read. `UIMessage` itself fits. */
export interface UiMessageLike {
  readonly role: "system" | "user" | "assistant"
  readonly parts: ReadonlyArray<{ readonly type: string }>
}

const uiOutput = ({ errorText, output, state }: Fields): string | undefined => {
  if (state === "output-available") return asText(output)
  if (state === "output-error") return `Error: ${textOr(errorText, "the tool failed")}`
  return state === "output-denied" ? "The call was denied." : undefined
}

/** Messages of `useChat`: each step of an answer is a message of its own, with its calls and their outputs. */
export const fromUiMessages = (messages: ReadonlyArray<UiMessageLike>): ReadonlyArray<ImportedMessage> => {
  const conversation = new Conversation()
  for (const { parts, role } of messages) {
    if (role === "system") continue
    const fields = objectsIn(parts)
    if (role === "user") {
      conversation.say("user", plainText(fields))
      continue
    }
    let words: Array<string> = []
    let calls: Array<Call> = []
    const close = () => {
      conversation.say("assistant", words.length === 0 ? null : words.join("\n\n"), undefined, calls)
      words = []
      calls = []
    }
    for (const part of fields) {
      const { type } = part
      if (type === "step-start") close()
      else if (type === "text" || type === "file") {
        if (calls.length > 0) close()
        words.push(plainText([part]))
      } else if (type === "dynamic-tool" || (typeof type === "string" && type.startsWith("tool-"))) {
        const name = type === "dynamic-tool" ? part["toolName"] : type.slice("tool-".length)
        const call = functionCall(part["toolCallId"], name, part["input"] ?? part["rawInput"])
        calls.push(call)
        const output = uiOutput(part)
        if (output !== undefined) conversation.output(call.id, output)
      }
    }
    close()
  }
  return conversation.messages()
}

/** The names that LangChain has for roles, in messages, in stored messages and in serialised objects. */
const langRoles: Readonly<Record<string, "user" | "assistant" | "tool">> = {
  human: "user",
  user: "user",
  HumanMessage: "user",
  HumanMessageChunk: "user",
  ai: "assistant",
  assistant: "assistant",
  AIMessage: "assistant",
  AIMessageChunk: "assistant",
  tool: "tool",
  ToolMessage: "tool"
}

const langMessage = (entry: Fields): { readonly role: string; readonly fields: Fields } => {
  const { id, kwargs, role, type } = entry
  // {"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{…}}
  if (isObject(kwargs)) return { role: String(listOrEmpty(id).at(-1)), fields: kwargs }
  // {"type":"ai","data":{…}}
  if (isObject(entry["data"])) return { role: String(type), fields: entry["data"] }
  const get = entry["getType"] ?? entry["_getType"]
  const told: unknown = typeof get === "function" ? Reflect.apply(get, entry, []) : (type ?? role)
  return { role: String(told), fields: entry }
}

/** The messages of a LangGraph state (`{ messages }` or the list), as objects of LangChain or as their JSON. */
export const fromLangGraph = (state: unknown): ReadonlyArray<ImportedMessage> => {
  const conversation = new Conversation()
  const values = isObject(state) && isObject(state["values"]) ? state["values"] : state
  for (const entry of readEntries(values)) {
    const { fields, role: name } = langMessage(entry)
    const role = langRoles[name]
    if (role === "tool")
      conversation.output(textOr(fields["tool_call_id"], ""), plainText(fields["content"]) || asText(fields["content"]))
    else if (role !== undefined) {
      const words = plainText(fields["content"])
      const calls = objectsIn(fields["tool_calls"]).map(({ args, id, name: called }) => functionCall(id, called, args))
      conversation.say(role, words === "" ? null : words, undefined, role === "assistant" ? calls : [])
    }
  }
  return conversation.messages()
}

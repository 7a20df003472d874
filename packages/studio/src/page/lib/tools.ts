/** Tools as a person writes them: one `name: description` per line, or a JSON list of definitions. Pure. */
import { isRecord, type Tool } from "../wire.ts"

const readTool = (line: string): Tool => {
  const [name = "", ...rest] = line.split(":")
  const description = rest.join(":").trim()
  return {
    type: "function",
    function: { name: name.trim(), description: description === "" ? name.trim() : description }
  }
}

/** Throws an error with a sentence when the text looks like JSON and is not valid. */
export const readTools = (typed: string): ReadonlyArray<Tool> => {
  const text = typed.trim()
  if (text.startsWith("[") || text.startsWith("{")) {
    const list = parsed(text)
    const tools: ReadonlyArray<Tool> = Array.isArray(list) ? list : [list]
    if (tools.every(isRecord)) return tools
    throw new Error("Something in the list of tools is no definition of a tool. Each one is a JSON object.")
  }
  return text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [readTool(line)]))
}

const parsed = (text: string) => {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(
      "The tools begin like a JSON list, but are not valid JSON. Correct the list, or write one name per line."
    )
  }
}

/** Lines if that loses nothing, otherwise JSON. */
export const writeTools = (tools: ReadonlyArray<Tool>): string => {
  const lines = tools
    .map((tool) =>
      "function" in tool ? [tool.function.name, tool.function.description].filter(Boolean).join(": ") : ""
    )
    .join("\n")
  const read = readTools(lines)
  const isPlain = read.length === tools.length && tools.every((tool, index) => isLine(tool, read[index]))
  return isPlain ? lines : JSON.stringify(tools, null, 2)
}

/** Whether a line is read as this function. A description may have lines of its own, and a name stands for one that is missing. */
const isLine = (tool: Tool, read: Tool | undefined): boolean =>
  tool.type === "function" &&
  read?.type === "function" &&
  isEmptySchema(tool.function.parameters) &&
  tool.function.strict !== true &&
  read.function.name === tool.function.name &&
  read.function.description === (tool.function.description || tool.function.name)

const isEmptySchema = (schema: unknown): boolean =>
  typeof schema !== "object" || schema === null || Object.keys(Object(Object(schema).properties)).length === 0

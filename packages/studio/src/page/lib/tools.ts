/** Tools as a person writes them: one `name: description` per line, or a JSON list of definitions. Pure. */
import type { Tool } from "../wire.ts"

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
    return Array.isArray(list) ? list : [list]
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
  const isPlain = tools.every((tool) => tool.type === "function" && isEmptySchema(tool.function.parameters))
  if (!isPlain) return JSON.stringify(tools, null, 2)
  return tools
    .map((tool) =>
      "function" in tool ? [tool.function.name, tool.function.description].filter(Boolean).join(": ") : ""
    )
    .join("\n")
}

const isEmptySchema = (schema: unknown): boolean =>
  typeof schema !== "object" || schema === null || Object.keys(Object(Object(schema).properties)).length === 0

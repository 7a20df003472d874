/** Pure: calls of tools, answered with what the same tools returned before. */
import type { OpenCall, ToolOutput } from "../tools/ToolCall.ts"
import type { MessageStatus } from "../threads/Message.ts"
import type { RecordedOutput } from "./TestCase.ts"

/** What an answer waits for. */
interface Waiting {
  readonly status: MessageStatus
  readonly toolCalls: ReadonlyArray<OpenCall>
}

/**
 * The outputs of each reply's open calls, one reply after the other; null when the run waits for nothing, for a person, or for an output that
 * was not recorded.
 */
export const recordedOutputs = (
  recorded: ReadonlyArray<RecordedOutput>
): ((reply: Waiting) => ReadonlyArray<ToolOutput> | null) => {
  const take = takeRecorded(recorded)
  return ({ status, toolCalls }) => {
    if (status !== "REQUIRES_ACTION" || toolCalls.some(({ approval }) => approval !== undefined)) return null
    const outputs = toolCalls.flatMap(({ arguments: given, id, name }) => {
      const output = take(name, given)
      return output === undefined ? [] : [{ toolCallId: id, output }]
    })
    return outputs.length === toolCalls.length && outputs.length > 0 ? outputs : null
  }
}

/** How often a record is used again: a model may ask the same for ever, and each time is paid. */
const mostRepeats = 20

/**
 * What a tool returned for these arguments; otherwise what it returned next. Each record is used once, the last one of a tool also for later
 * calls of the same arguments.
 */
const takeRecorded = (
  recorded: ReadonlyArray<RecordedOutput>
): ((name: string, given: string) => string | undefined) => {
  const left = [...recorded]
  let repeats = 0
  return (name, given) => {
    const same = left.findIndex((each) => each.name === name && isSameJson(each.arguments, given))
    const index = same === -1 ? left.findIndex((each) => each.name === name) : same
    if (index !== -1) return left.splice(index, 1)[0]?.output
    if (repeats++ >= mostRepeats) return undefined
    return recorded.findLast((each) => each.name === name && isSameJson(each.arguments, given))?.output
  }
}

/** Arguments that differ in blanks or in the order of their fields are the same. */
export const isSameJson = (one: string, other: string): boolean => one === other || normal(one) === normal(other)

const normal = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), (_, value: unknown) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
        : value
    )
  } catch {
    return text
  }
}

/** Memory: what an assistant remembers across its threads. `memory_pro` is the same part with more effort. */
import { readKept } from "@colloquy/core/wings"
import { isGiven, isOneOf, problem } from "../bodies/RawFields.ts"
import { plainEvent } from "./PlainEvent.ts"
import type { Kept, PartTold, Wing } from "./Wing.ts"

const modes = ["Auto", "Readonly"]

/** The answer keeps what was recalled. A message that is only saved keeps whether it is learned from. */
const memoryFields = ({ answer, completedRun, userMessage }: Kept) => {
  const [kept, saved] = [readKept(answer), readKept(userMessage)]
  return {
    retrieved_memories: kept?.retrieved ?? null,
    memory_operation_id: kept?.learns === true || saved?.learns === true ? completedRun : null
  }
}

const memoryEvent = (event: PartTold) => plainEvent({ ...event, type: `memory_${event.type}` })

export const memoryWing: Wing = {
  part: "memory",
  message: {
    concerns: ["memory", "memory_pro"],
    asked: (fields) =>
      ["memory", "memory_pro"]
        .filter((name) => isOneOf(fields[name], ...modes))
        .map((name) => ({ path: [name], title: "Memory" })),
    details: { of: "memory", fields: ["memory_response_citation", "memory_citation"] },
    problems: ({ memory, memory_pro }) =>
      isOneOf(memory, ...modes) && isGiven(memory_pro) && memory_pro !== "off"
        ? [problem(["memory_pro"], "conflict", "memory_pro cannot be combined with memory")]
        : [],
    options: ({ memory, memory_citation, memory_pro, memory_response_citation }) => {
      const pro = isOneOf(memory_pro, ...modes)
      return {
        mode: (pro ? memory_pro : memory) ?? "off",
        pro,
        citation: memory_response_citation === true || memory_citation === true
      }
    },
    bodyPath: () => ["memory"]
  },
  fields: memoryFields,
  event: memoryEvent
}

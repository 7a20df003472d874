/** Memory: what an assistant remembers across its threads. `memory_pro` is the same part with more effort. */
import { isGiven, isOneOf, problem } from "./Fields.ts"
import type { Wing } from "./Wing.ts"

const modes = ["Auto", "Readonly"]

export const memoryWing: Wing = {
  part: "memory",
  message: {
    asked: (fields) =>
      ["memory", "memory_pro"]
        .filter((name) => isOneOf(fields[name], ...modes))
        .map((name) => ({ path: [name], title: "Memory" })),
    problems: ({ memory, memory_pro }) =>
      isOneOf(memory, ...modes) && isGiven(memory_pro) && memory_pro !== "off"
        ? [problem(["memory_pro"], "conflict", "memory_pro cannot be combined with memory")]
        : [],
    options: ({ memory, memory_citation, memory_pro, memory_response_citation }) => {
      const pro = isOneOf(memory_pro, ...modes)
      return {
        mode: (pro ? memory_pro : memory) ?? "off",
        pro,
        cite: (memory_response_citation ?? memory_citation) === true
      }
    },
    place: () => ["memory"]
  },
  absent: {
    title: "Memories",
    endpoints: [
      ["GET", "/assistants/:assistant_id/memories"],
      ["POST", "/assistants/:assistant_id/memories"],
      ["DELETE", "/assistants/:assistant_id/memories"],
      ["GET", "/assistants/:assistant_id/memories/export"],
      ["POST", "/assistants/:assistant_id/memories/import"],
      ["GET", "/assistants/:assistant_id/memories/stats"],
      ["POST", "/assistants/:assistant_id/memories/search"],
      ["GET", "/assistants/:assistant_id/memories/:memory_id"],
      ["PUT", "/assistants/:assistant_id/memories/:memory_id"],
      ["DELETE", "/assistants/:assistant_id/memories/:memory_id"],
      ["GET", "/assistants/memories/operations/:operation_id"]
    ]
  }
}

/** The fields of an imported message by the names of the wire, for the problems that the kernel finds. */
const names: Readonly<Record<string, ReadonlyArray<string>>> = {
  toolCalls: ["tool_calls"],
  toolCallId: ["tool_call_id"],
  createdAt: ["created_at"],
  name: ["function", "name"],
  arguments: ["function", "arguments"]
}

export const wirePath = (path: ReadonlyArray<string | number>): ReadonlyArray<string | number> =>
  path.flatMap((name): ReadonlyArray<string | number> => names[name] ?? [name])

/** What the readers of `colloquy/import` share: messages, calls and outputs in the order of speaking, and words of contents. */
import type { ImportedMessage } from "@colloquy/core"

export type Fields = Readonly<Record<string, unknown>>
export type Call = NonNullable<ImportedMessage["toolCalls"]>[number]

export const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
export const listOrEmpty = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])
export const objectsIn = (value: unknown): ReadonlyArray<Fields> => listOrEmpty(value).filter(isObject)
export const textOr = (value: unknown, other: string): string => (typeof value === "string" ? value : other)
/** Values that are no text, as JSON. */
export const asText = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""))

export interface Said {
  readonly role: "user" | "assistant"
  content: string | null
  readonly calls: Array<Call>
  readonly createdAt: string | undefined
}

/** Collects messages, calls and outputs in the order in which they were written. */
export class Conversation {
  private readonly said: Array<Said> = []
  private readonly outputs = new Map<string, string>()

  say(role: Said["role"], content: string | null, createdAt?: string, calls: ReadonlyArray<Call> = []): void {
    if ((content === null || content === "") && calls.length === 0) return
    this.said.push({ role, content, calls: [...calls], createdAt })
  }

  /** Calls that follow each other, or a text of the assistant, are one message with it. */
  call(call: Call): void {
    const last = this.said.at(-1)
    const isOpen = last?.role === "assistant" && last.calls.every(({ id }) => !this.outputs.has(id))
    if (last !== undefined && isOpen) last.calls.push(call)
    else this.say("assistant", null, undefined, [call])
  }

  output(callId: string, output: string): void {
    if (!this.outputs.has(callId)) this.outputs.set(callId, output)
  }

  messages(): ReadonlyArray<ImportedMessage> {
    return this.said.flatMap(({ calls, content, createdAt, role }, index): ReadonlyArray<ImportedMessage> => {
      const isLast = index === this.said.length - 1
      const own: ImportedMessage = {
        role,
        content,
        ...(calls.length === 0 ? {} : { toolCalls: calls }),
        ...(createdAt === undefined ? {} : { createdAt })
      }
      const results = calls.flatMap(({ id }): ReadonlyArray<ImportedMessage> => {
        const output = this.outputs.get(id) ?? (isLast ? undefined : noOutput)
        return output === undefined ? [] : [{ role: "tool", toolCallId: id, content: output }]
      })
      return [own, ...results]
    })
  }
}

const noOutput = "No result was recorded."

const isoTime = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}(?::?\d{2})?)?)?$/u

const readIso = (text: string): Date => {
  const [, day, time = "00:00", zone = "Z"] = isoTime.exec(text) ?? []
  return new Date(day === undefined ? Number.NaN : `${day}T${time}${zone.length === 3 ? `${zone}:00` : zone}`)
}

const readDate = (value: unknown): Date => {
  if (typeof value === "number") return new Date(value < 100_000_000_000 ? value * 1000 : value)
  return value instanceof Date ? value : readIso(textOr(value, ""))
}

/**
 * Seconds or milliseconds since 1970, or ISO 8601, where a time without a zone is one of UTC. Undefined: it is no time that an import takes.
 */
export const readTime = (value: unknown): string | undefined => {
  const date = readDate(value)
  const year = date.getUTCFullYear()
  return year >= 1 && year <= 9999 ? date.toISOString() : undefined
}

/** The words of a content: a text, or a list of parts in the forms of these systems. */
export const plainText = (content: unknown): string => {
  if (typeof content === "string") return content
  return listOrEmpty(content)
    .flatMap((part): ReadonlyArray<string> => {
      if (typeof part === "string") return [part]
      if (!isObject(part)) return []
      const { text, type } = part
      if (typeof text === "string") return [text]
      if (isObject(text) && typeof text["value"] === "string") return [text["value"]]
      if (typeof part["refusal"] === "string") return [part["refusal"]]
      const isFile = typeof type === "string" && /image|file|audio|video|document/u.test(type)
      return isFile
        ? [`[A file was here: ${textOr(part["filename"] ?? part["title"] ?? part["mediaType"], type)}]`]
        : []
    })
    .filter((words) => words !== "")
    .join("\n\n")
}

export const functionCall = (id: unknown, name: unknown, args: unknown): Call => ({
  id: textOr(id, "call"),
  name: textOr(name, "tool"),
  arguments: args === undefined || args === null || args === "" ? "{}" : asText(args)
})

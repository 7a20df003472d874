/** A turn as a file: its messages and events, which another studio can open without the server. */
import { json } from "../api/http.ts"
import { chooseText, saveFile } from "../lib/files.ts"
import { signal } from "../view.ts"
import type { Assistant, StoredMessage, Thread } from "../wire.ts"
import { isRecord } from "../wire.ts"
import { go } from "./address.ts"
import { inspected, type InspectedTurn, readTurn } from "./inspector.ts"

export interface SharedTurn {
  readonly kind: "colloquy-turn"
  readonly version: 1
  readonly saved_at: string
  readonly assistant: Pick<Assistant, "name" | "system_prompt" | "llm_provider" | "model_name" | "tools">
  readonly messages: ReadonlyArray<StoredMessage>
  readonly turn: InspectedTurn
}

/** The file that is open. */
export const opened = signal<SharedTurn | null>(null)

/** Asks for the file of a turn, and shows it. */
export const openShared = async (): Promise<void> => {
  const shared = readShared(await chooseText("application/json,.json"))
  opened.value = shared
  inspected.value = shared.turn
  go("shared")
}

export const shareTurn = async (threadId: string, runId: string): Promise<void> => {
  const thread = await json<Thread>(`/threads/${threadId}`)
  const [assistant, turn] = await Promise.all([
    json<Assistant>(`/assistants/${thread.assistant_id}`),
    readTurn(threadId, runId)
  ])
  const { llm_provider, model_name, name, system_prompt, tools } = assistant
  const shared: SharedTurn = {
    kind: "colloquy-turn",
    version: 1,
    saved_at: new Date().toISOString(),
    assistant: { llm_provider, model_name, name, system_prompt, tools },
    messages: thread.messages.filter(({ run_id }) => run_id === runId),
    turn
  }
  saveFile(`turn-${runId.slice(0, 8)}.json`, JSON.stringify(shared, null, 2))
}

/** Throws an error with a sentence for a file that is not a turn. */
const readShared = (text: string): SharedTurn => {
  const refuse = () =>
    new Error("This file is not a turn that a studio has shared. Choose a file that was saved with Share.")
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    throw refuse()
  }
  if (!isRecord(read) || read["kind"] !== "colloquy-turn") throw refuse()
  if (read["version"] !== 1) throw new Error("This turn was shared by a newer studio. Open it there.")
  const { assistant, messages, turn } = read
  const isWhole =
    isRecord(assistant) &&
    Array.isArray(messages) &&
    messages.every((each) => isRecord(each) && typeof each["role"] === "string") &&
    isRecord(turn) &&
    isRecord(turn["run"]) &&
    isRecord(turn["inspection"]) &&
    Array.isArray(turn["inspection"]["steps"]) &&
    Array.isArray(turn["inspection"]["prompts"]) &&
    Array.isArray(turn["log"])
  if (!isWhole) throw refuse()
  // Its kind, its version and all fields that are read below have been checked.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return read as unknown as SharedTurn
}

/** The assistant's memories across its threads. */
import { call, json } from "../api/http.ts"
import { chooseText, saveFile } from "../lib/files.ts"
import { pause } from "../lib/pause.ts"
import { signal } from "../view.ts"
import type { Memory, MemoryOperation } from "../wire.ts"

export const memories = signal<ReadonlyArray<Memory>>([])
export const isLoaded = signal(false)

const memoriesPath = (assistantId: string): string => `/assistants/${assistantId}/memories`

/** The assistant whose memories are shown. */
let shown: string | null = null

const read = async (assistantId: string): Promise<void> => {
  const found = await json<{ readonly memories: ReadonlyArray<Memory> }>(memoriesPath(assistantId))
  if (shown !== assistantId) return
  memories.value = found.memories.toReversed()
  isLoaded.value = true
}

/** Shows the memories of this assistant, and those of no other until they are read. */
export const loadMemories = async (assistantId: string): Promise<void> => {
  if (shown !== assistantId) {
    memories.value = []
    isLoaded.value = false
  }
  shown = assistantId
  await read(assistantId)
}

export const searchMemories = async (assistantId: string, query: string): Promise<ReadonlyArray<Memory>> => {
  const body = { query, limit: 20 }
  const found = await json<{ readonly memories: ReadonlyArray<Memory> }>(`${memoriesPath(assistantId)}/search`, {
    method: "POST",
    body
  })
  return found.memories
}

export const addMemory = async (assistantId: string, content: string): Promise<void> => {
  await call(memoriesPath(assistantId), { method: "POST", body: { content } })
  await read(assistantId)
}

export const changeMemory = async (assistantId: string, id: string, content: string): Promise<void> => {
  await call(`${memoriesPath(assistantId)}/${id}`, { method: "PUT", body: { content } })
  await read(assistantId)
}

export const removeMemory = async (assistantId: string, id: string): Promise<void> => {
  await call(`${memoriesPath(assistantId)}/${id}`, { method: "DELETE" })
  await read(assistantId)
}

export const forgetAll = async (assistantId: string): Promise<void> => {
  await call(memoriesPath(assistantId), { method: "DELETE" })
  await read(assistantId)
}

export const exportMemories = async (assistantId: string): Promise<void> => {
  const lines = await (await call(`${memoriesPath(assistantId)}/export`)).text()
  saveFile("memories.jsonl", lines, "application/x-ndjson")
}

/** Adds the memories of a file that was saved here or elsewhere: one JSON object a line. */
export const importMemories = async (assistantId: string): Promise<void> => {
  const lines = await chooseText(".jsonl,.ndjson,application/x-ndjson")
  await call(`${memoriesPath(assistantId)}/import`, {
    method: "POST",
    body: new Blob([lines], { type: "application/x-ndjson" }),
    headers: { "content-type": "application/x-ndjson" }
  })
  await read(assistantId)
}

/** The result of a turn's learning. Null: the learning takes too long. */
export const learned = async (operationId: string): Promise<MemoryOperation | null> => {
  for (let turn = 0; turn < 60; turn++) {
    const operation = await json<MemoryOperation>(`/assistants/memories/operations/${operationId}`)
    if (operation.status === "COMPLETED" || operation.status === "FAILED") return operation
    await pause(500)
  }
  return null
}

/** Files of an assistant and of a thread: how far each has been read, and what is to be sent with the next message. */
import { base, call, json } from "../api/http.ts"
import { ownAddress } from "../lib/addresses.ts"
import { signal } from "../view.ts"
import type { DocumentRead } from "../wire.ts"

export interface Upload {
  readonly key: string
  readonly name: string
  readonly size: number
  /** Null until the server has taken it. */
  readonly documentId: string | null
  readonly status: "uploading" | DocumentRead["status"]
  readonly message: string | null
}

/** Where a document is kept. */
export type Place = { readonly thread: string } | { readonly assistant: string }

/** What goes with the next message. */
export const uploads = signal<ReadonlyArray<Upload>>([])
export const ofAssistant = signal<ReadonlyArray<DocumentRead>>([])
export const ofThread = signal<ReadonlyArray<DocumentRead>>([])

const pathOf = (place: Place): string =>
  "thread" in place ? `/threads/${place.thread}/documents` : `/assistants/${place.assistant}/documents`

let keys = 0

const change = (key: string, patch: Partial<Upload>): void => {
  uploads.value = uploads.value.map((each) => (each.key === key ? { ...each, ...patch } : each))
}

const send = (place: Place, file: File): Promise<DocumentRead> => {
  const form = new FormData()
  form.set("file", file, file.name)
  return json<DocumentRead>(pathOf(place), { method: "POST", body: form })
}

/** Uploads a file for the next message and watches how it is read. A refusal stands with the file. */
export const attachFile = async (threadId: string, file: File): Promise<void> => {
  const key = `upload-${++keys}`
  const upload: Upload = { key, name: file.name, size: file.size, documentId: null, status: "uploading", message: null }
  uploads.value = [...uploads.value, upload]
  try {
    const { document_id, status } = await send({ thread: threadId }, file)
    change(key, { documentId: document_id, status })
    await watch(document_id, (read) => {
      change(key, { status: read.status, message: read.status === "error" ? read.status_message : null })
    })
  } catch (error) {
    change(key, { status: "error", message: error instanceof Error ? error.message : "" })
  }
}

const pause = (millis: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, millis)
  })

/** Until the document is read, or cannot be. */
const watch = async (documentId: string, onRead: (document: DocumentRead) => void): Promise<void> => {
  while (true) {
    const read = await json<DocumentRead>(`/documents/${documentId}/status`)
    onRead(read)
    if (read.status !== "processing") return
    await pause(500)
  }
}

export const removeUpload = async ({ documentId, key }: Upload): Promise<void> => {
  uploads.value = uploads.value.filter((each) => each.key !== key)
  if (documentId !== null) await call(`/documents/${documentId}`, { method: "DELETE" })
}

export const loadDocuments = async (assistantId: string, threadId: string | null): Promise<void> => {
  const list = (place: Place) => json<ReadonlyArray<DocumentRead>>(pathOf(place))
  ;[ofAssistant.value, ofThread.value] = await Promise.all([
    list({ assistant: assistantId }),
    threadId === null ? [] : list({ thread: threadId })
  ])
}

/** Uploads files to an assistant or a thread; each is shown at once, and again when it is read. */
export const addDocuments = async (place: Place, files: Iterable<File>): Promise<void> => {
  const list = "thread" in place ? ofThread : ofAssistant
  for (const file of files) {
    const made = await send(place, file)
    list.value = [...list.value, made]
    void watch(made.document_id, (read) => {
      list.value = list.value.map((each) => (each.document_id === read.document_id ? read : each))
    }).catch(() => {})
  }
}

export const removeDocument = async (documentId: string): Promise<void> => {
  await call(`/documents/${documentId}`, { method: "DELETE" })
  ofAssistant.value = ofAssistant.value.filter(({ document_id }) => document_id !== documentId)
  ofThread.value = ofThread.value.filter(({ document_id }) => document_id !== documentId)
}

/** Where the bytes are found, for some time and without the key. */
export const addressOf = async (documentId: string): Promise<string> => {
  const { url } = await json<{ readonly url: string }>(`/documents/${documentId}/url`, { method: "POST", body: {} })
  return ownAddress(url, base)
}

/** Sound is fetched piece by piece while it plays. */
export const playDocument = async (documentId: string): Promise<void> => {
  await new Audio(await addressOf(documentId)).play()
}

/** The bytes, shown in a window of their own. */
export const openDocument = async (documentId: string): Promise<void> => {
  window.open(await addressOf(documentId), "_blank", "noopener")
}

/** Files of an assistant and of a thread: the progress of each, and the files for the next message. */
import { base, call, json } from "../api/http.ts"
import { ownAddress } from "../lib/addresses.ts"
import { pause } from "../lib/pause.ts"
import { signal } from "../view.ts"
import type { DocumentRead } from "../wire.ts"

export interface Upload {
  readonly key: string
  readonly name: string
  readonly size: number
  /** Null until the server has accepted it. */
  readonly documentId: string | null
  readonly status: "uploading" | DocumentRead["status"]
  readonly message: string | null
}

/** The assistant or thread of a document. */
export type Scope = { readonly thread: string } | { readonly assistant: string }

/** The files for the next message. */
export const uploads = signal<ReadonlyArray<Upload>>([])
export const ofAssistant = signal<ReadonlyArray<DocumentRead>>([])
export const ofThread = signal<ReadonlyArray<DocumentRead>>([])

const documentsPath = (scope: Scope): string =>
  "thread" in scope ? `/threads/${scope.thread}/documents` : `/assistants/${scope.assistant}/documents`

let keys = 0

const change = (key: string, patch: Partial<Upload>): void => {
  uploads.value = uploads.value.map((each) => (each.key === key ? { ...each, ...patch } : each))
}

const send = (scope: Scope, file: File): Promise<DocumentRead> => {
  const form = new FormData()
  form.set("file", file, file.name)
  return json<DocumentRead>(documentsPath(scope), { method: "POST", body: form })
}

/** Uploads a file for the next message and watches its indexing. A refusal is shown with the file. */
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

/** Waits until the document is indexed or has failed. */
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
  const list = (scope: Scope) => json<ReadonlyArray<DocumentRead>>(documentsPath(scope))
  ;[ofAssistant.value, ofThread.value] = await Promise.all([
    list({ assistant: assistantId }),
    threadId === null ? [] : list({ thread: threadId })
  ])
  for (const shown of [ofAssistant, ofThread]) {
    for (const { document_id, status } of shown.value) if (status === "processing") follow(shown, document_id)
  }
}

const followed = new Set<string>()

/** Shows the progress of reading a document until it has ended. */
const follow = (list: typeof ofAssistant, documentId: string): void => {
  if (followed.has(documentId)) return
  followed.add(documentId)
  watch(documentId, (read) => {
    list.value = list.value.map((each) => (each.document_id === read.document_id ? { ...each, ...read } : each))
  })
    .catch(() => {})
    .finally(() => followed.delete(documentId))
}

/** Uploads files to an assistant or a thread; each is shown at once, and again when it is indexed. */
export const addDocuments = async (scope: Scope, files: Iterable<File>): Promise<void> => {
  const list = "thread" in scope ? ofThread : ofAssistant
  for (const file of files) {
    const made = await send(scope, file)
    list.value = [...list.value, made]
    follow(list, made.document_id)
  }
}

export const removeDocument = async (documentId: string): Promise<void> => {
  await call(`/documents/${documentId}`, { method: "DELETE" })
  ofAssistant.value = ofAssistant.value.filter(({ document_id }) => document_id !== documentId)
  ofThread.value = ofThread.value.filter(({ document_id }) => document_id !== documentId)
}

/** The temporary address of the bytes, which needs no key. */
export const documentAddress = async (documentId: string): Promise<string> => {
  const { url } = await json<{ readonly url: string }>(`/documents/${documentId}/url`, { method: "POST", body: {} })
  return ownAddress(url, base)
}

/** Sound is loaded piece by piece while it plays. */
export const playDocument = async (documentId: string): Promise<void> => {
  await new Audio(await documentAddress(documentId)).play()
}

/** Shows the bytes in a separate window. */
export const openDocument = async (documentId: string): Promise<void> => {
  window.open(await documentAddress(documentId), "_blank", "noopener")
}

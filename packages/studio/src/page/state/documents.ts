/** Files on their way to an assistant or a thread, those for the next message, and the bytes of documents. */
import { base, call, isRefusal, json } from "../api/http.ts"
import { ownAddress } from "../lib/addresses.ts"
import { pause } from "../lib/pause.ts"
import { signal } from "../view.ts"
import type { DocumentRead } from "../wire.ts"

export interface Upload {
  readonly key: string
  readonly threadId: string
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

export const documentsPath = (scope: Scope): string =>
  "thread" in scope ? `/threads/${scope.thread}/documents` : `/assistants/${scope.assistant}/documents`

let keys = 0

const change = (key: string, patch: Partial<Upload>): void => {
  uploads.value = uploads.value.map((each) => (each.key === key ? { ...each, ...patch } : each))
}

export const upload = (scope: Scope, file: File): Promise<DocumentRead> => {
  const form = new FormData()
  form.set("file", file, file.name)
  return json<DocumentRead>(documentsPath(scope), { method: "POST", body: form })
}

/** Uploads a file for the next message and watches its indexing. A refusal is shown with the file. */
export const attachFile = async (threadId: string, file: File): Promise<void> => {
  const key = `upload-${++keys}`
  const { name, size } = file
  const shown: Upload = { key, threadId, name, size, documentId: null, status: "uploading", message: null }
  uploads.value = [...uploads.value, shown]
  try {
    const { document_id, status } = await upload({ thread: threadId }, file)
    // It was removed while it was on its way.
    if (!uploads.value.some((each) => each.key === key))
      return void (await call(`/documents/${document_id}`, { method: "DELETE" }))
    change(key, { documentId: document_id, status })
    await watch(document_id, (read) => {
      change(key, { status: read.status, message: read.status === "error" ? read.status_message : null })
    })
  } catch (error) {
    change(key, { status: "error", message: error instanceof Error ? error.message : "" })
  }
}

/** Waits until the document is indexed or has failed. */
export const watch = async (documentId: string, onRead: (document: DocumentRead) => void): Promise<void> => {
  while (true) {
    try {
      const read = await json<DocumentRead>(`/documents/${documentId}/status`)
      onRead(read)
      if (read.status !== "processing") return
    } catch (error) {
      // A server that does not answer is asked again.
      if (isRefusal(error)) throw error
    }
    await pause(500)
  }
}

export const removeUpload = async ({ documentId, key }: Upload): Promise<void> => {
  uploads.value = uploads.value.filter((each) => each.key !== key)
  if (documentId !== null) await call(`/documents/${documentId}`, { method: "DELETE" })
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

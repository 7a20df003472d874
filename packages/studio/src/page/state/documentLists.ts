/** The documents of an assistant and of a thread, with the progress of each. */
import { call, isRefusal, json, Refused } from "../api/http.ts"
import { signal } from "../view.ts"
import type { DocumentRead } from "../wire.ts"
import { documentsPath, type Scope, upload, watch } from "./documents.ts"

export const ofAssistant = signal<ReadonlyArray<DocumentRead>>([])
export const ofThread = signal<ReadonlyArray<DocumentRead>>([])

/** Increases when other documents are asked for, so that late responses for the earlier ones are ignored. */
let visits = 0
/** The assistant and the thread whose documents are shown. */
let shown: { readonly assistant: string; readonly thread: string | null } | null = null

export const loadDocuments = async (assistantId: string, threadId: string | null): Promise<void> => {
  const visit = ++visits
  if (shown?.assistant !== assistantId) ofAssistant.value = []
  if (shown?.thread !== threadId) ofThread.value = []
  shown = { assistant: assistantId, thread: threadId }
  const list = (scope: Scope) => json<ReadonlyArray<DocumentRead>>(documentsPath(scope))
  const [own, open] = await Promise.all([
    list({ assistant: assistantId }),
    threadId === null ? [] : list({ thread: threadId })
  ])
  if (visit !== visits) return
  ofAssistant.value = own
  ofThread.value = open
  for (const each of [ofAssistant, ofThread]) {
    for (const { document_id, status } of each.value) if (status === "processing") follow(each, document_id)
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

const isShown = (scope: Scope): boolean =>
  "thread" in scope ? scope.thread === shown?.thread : scope.assistant === shown?.assistant

/** Uploads files to an assistant or a thread; each is shown at once, and again when it is indexed. Refused files do not stop the others. */
export const addDocuments = async (scope: Scope, files: Iterable<File>): Promise<void> => {
  const list = "thread" in scope ? ofThread : ofAssistant
  const problems: Array<string> = []
  for (const file of files) {
    try {
      const made = await upload(scope, file)
      if (!isShown(scope)) continue
      list.value = [...list.value.filter(({ document_id }) => document_id !== made.document_id), made]
      follow(list, made.document_id)
    } catch (error) {
      if (!isRefusal(error) || (error instanceof Refused && error.status === 401)) throw error
      problems.push(`${file.name}: ${error instanceof Error ? error.message : ""}`)
    }
  }
  if (problems.length > 0) throw new Error(problems.join("\n"))
}

export const removeDocument = async (documentId: string): Promise<void> => {
  await call(`/documents/${documentId}`, { method: "DELETE" })
  ofAssistant.value = ofAssistant.value.filter(({ document_id }) => document_id !== documentId)
  ofThread.value = ofThread.value.filter(({ document_id }) => document_id !== documentId)
}

/**
 * The next message: its text, its files and its way to the server. A message that is sent while one of its files is still being read waits
 * here until the file is read, because the server would refuse it.
 */
import { effect, signal } from "../view.ts"
import { type Attachment, isRecord } from "../wire.ts"
import type { MessageBody } from "../lib/answer.ts"
import { attachFile, type Upload, uploads } from "./documents.ts"
import { bodyFor, options } from "./options.ts"
import { can, conversation, notice, tell } from "./studio.ts"

/** The text in the field of the next message. */
export const draft = signal("")

/** A message that waits for its files. */
export interface Queued {
  readonly key: string
  readonly threadId: string
  readonly body: MessageBody
  readonly files: ReadonlyArray<string>
  /** What the user said; null: nothing was recorded. */
  readonly audio: Blob | null
}

export const queue = signal<ReadonlyArray<Queued>>([])

let keys = 0

/** The number of choices of files whose thread is being made. */
let attaching = 0

/** Files are uploaded to the thread at once, so that they are indexed while the message is written. */
export const attach = async (added: ReadonlyArray<File>): Promise<void> => {
  if (added.length === 0) return
  if (!can.value.documents) {
    notice.value = "This server keeps no documents, so nothing can be attached."
    return
  }
  let reading: ReadonlyArray<Promise<void>> = []
  attaching += 1
  try {
    const threadId = await conversation.ensureThread(added[0]?.name ?? "")
    reading = added.map((file) => attachFile(threadId, file))
  } finally {
    attaching -= 1
  }
  await Promise.all(reading)
}

const isBeingRead = ({ status }: Upload): boolean => status === "uploading" || status === "processing"

/** The files of a thread's next message, without those of messages that wait. */
const attachedTo = (threadId: string | null): ReadonlyArray<Upload> =>
  uploads.value.filter(
    (each) => each.threadId === threadId && !queue.value.some(({ files }) => files.includes(each.key))
  )

/** Those of the open thread. */
export const attached = (): ReadonlyArray<Upload> => attachedTo(conversation.threadId.value)

export const queuedFiles = ({ files }: Queued): ReadonlyArray<Upload> =>
  uploads.value.filter(({ key }) => files.includes(key))

/** Sends the text with the attached files, or lets it wait for them. */
export const send = async (content: string, audio: Blob | null = null): Promise<void> => {
  const body = bodyFor(content, options.value, can.value)
  draft.value = ""
  // A thread is being made for files: the message waits for it, so that it has these files.
  const made = attaching > 0 ? await conversation.ensureThread(content).catch(() => null) : null
  const threadId = made ?? conversation.threadId.value
  const files = attachedTo(threadId).filter(({ status }) => status !== "error")
  if (threadId !== null && files.some(isBeingRead)) {
    const waiting = { key: `queued-${++keys}`, threadId, body, files: files.map(({ key }) => key), audio }
    queue.value = [...queue.value, waiting]
    return
  }
  await deliver(body, files, audio)
}

/** Sends the text with these files, when they are read. */
export const sendWith = async (content: string, files: ReadonlyArray<File>): Promise<void> => {
  const threadId = await conversation.ensureThread(content)
  for (const file of files) void attachFile(threadId, file)
  await send(content)
}

const deliver = async (body: MessageBody, files: ReadonlyArray<Upload>, audio: Blob | null): Promise<void> => {
  const attachments = files.flatMap(({ documentId }) => documentId ?? [])
  const before = uploads.value
  uploads.value = before.filter(({ key, status }) => status !== "error" && !files.some((file) => file.key === key))
  await conversation.send(
    {
      body: {
        ...body,
        ...(attachments.length === 0 ? {} : { attachments }),
        ...(audio === null ? {} : { voice: { ...(isRecord(body["voice"]) ? { tts: {} } : {}), stt: {} } })
      },
      attachments: files.map(shownAttachment),
      audio,
      onRefused: () => {
        if (draft.value === "") draft.value = body.content
        uploads.value = [...files, ...uploads.value]
      }
    },
    body.content === "" ? (files[0]?.name ?? "Spoken message") : body.content
  )
}

/** Puts a message that waits back into the field. */
export const takeBack = (queued: Queued): void => {
  queue.value = queue.value.filter((each) => each !== queued)
  if (draft.value === "") draft.value = queued.body.content
}

/** A message whose file could not be read stays where it is, for its user to decide. */
export const isStuck = (queued: Queued): boolean =>
  queuedFiles(queued).length < queued.files.length || queuedFiles(queued).some(({ status }) => status === "error")

export const sendWithout = (queued: Queued): void => {
  const good = queuedFiles(queued).filter(({ status }) => status !== "error")
  queue.value = queue.value.map((each) => (each === queued ? { ...each, files: good.map(({ key }) => key) } : each))
}

// The first message of the open thread goes out as soon as its files are read.
effect(() => {
  const next = queue.value.find(({ threadId }) => threadId === conversation.threadId.value)
  if (next === undefined || conversation.isRunning.value || isStuck(next)) return
  const files = queuedFiles(next)
  if (files.some(isBeingRead)) return
  queue.value = queue.value.filter((each) => each !== next)
  deliver(next.body, files, next.audio).catch(tell)
})

export const shownAttachment = ({ documentId, name, size, status }: Upload): Attachment => ({
  document_id: documentId ?? "",
  filename: name,
  status,
  file_size_bytes: size,
  summary: null,
  mime_type: null,
  url: ""
})

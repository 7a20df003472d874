/** The input of the user: text, files (dropped, pasted or chosen), the options of the turn, and the button that stops it. */
import { ofType, problemOf, readModelName } from "../state/catalogue.ts"
import { attachFile, removeUpload, type Upload, uploads } from "../state/documents.ts"
import { activeOptions, bodyFor, options } from "../state/options.ts"
import { act, assistant, can, chosenModel, conversation, notice } from "../state/place.ts"
import { classes, html, useEffect, useRef, useState, type View } from "../view.ts"
import { type Attachment, isRecord, type JsonRecord } from "../wire.ts"
import { FileChooser } from "./FileChooser.ts"
import { Icon, IconButton } from "./Icon.ts"
import { AttachedFile } from "./QuestionItem.ts"
import { TalkButton } from "./TalkButton.ts"
import { TurnOptions } from "./TurnOptions.ts"

const listeners = ofType("stt")

/** Files are uploaded to the thread at once, so that they are indexed while the message is written. */
export const attach = (added: ReadonlyArray<File>): void => {
  if (!can.value.documents) {
    notice.value = "This server keeps no documents, so nothing can be attached."
    return
  }
  const send = async () => {
    const threadId = await conversation.ensureThread(added[0]?.name ?? "")
    await Promise.all(added.map((file) => attachFile(threadId, file)))
  }
  if (added.length > 0 && assistant.value !== null) act(send)()
}

/** True while a file is not indexed yet; the message would be refused. */
const isBeingRead = (): boolean => uploads.value.some(({ status }) => status === "uploading" || status === "processing")

/** The catalogue's problem with the model of the next message. */
const modelProblem = (): string | null => {
  if (options.value.isAsking) return null
  const { llm_provider: provider = null, model_name: model = null } = assistant.value ?? {}
  return problemOf(chosenModel.value === "" ? { provider, model } : readModelName(chosenModel.value))
}

export const Composer = (): View => {
  const field = useRef<HTMLTextAreaElement>(null)
  const [text, setText] = useState("")
  const [isUnfolded, unfold] = useState(false)
  const isRunning = conversation.isRunning.value
  const isReady = assistant.value !== null && !isRunning
  const isWaiting = conversation.waiting.value !== null
  const problem = modelProblem()
  useEffect(() => {
    if (!isWaiting) field.current?.focus({ preventScroll: true })
  }, [conversation.threadId.value, assistant.value === null])
  useEffect(() => grow(field.current), [text])

  const send = async () => {
    const content = text.trim()
    if ((content === "" && uploads.value.length === 0) || !isReady || isBeingRead()) return
    await deliver(content, null)
  }
  const deliver = async (content: string, audio: Blob | null) => {
    const attached = uploads.value.filter(({ status }) => status === "completed")
    const body = bodyFor(content, { ...options.value, model: chosenModel.value }, can.value)
    const attachments = attached.flatMap(({ documentId }) => documentId ?? [])
    setText("")
    uploads.value = []
    try {
      await conversation.send(
        {
          body: {
            ...body,
            ...(attachments.length === 0 ? {} : { attachments }),
            ...(audio === null ? {} : { voice: { ...voiceIn(body), stt: {} } })
          },
          attachments: attached.map(shownAttachment),
          audio
        },
        content === "" ? (attached[0]?.name ?? "Spoken message") : content
      )
    } catch (error) {
      if (!wasSent(content)) {
        setText((now) => (now === "" ? content : now))
        uploads.value = [...attached, ...uploads.value]
      }
      throw error
    }
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return
    event.preventDefault()
    act(send)()
  }
  const onPaste = (event: ClipboardEvent) => {
    const pasted = [...(event.clipboardData?.files ?? [])]
    if (pasted.length === 0) return
    event.preventDefault()
    attach(pasted)
  }
  const submit = (event: Event) => {
    event.preventDefault()
    act(send)()
  }
  const active = activeOptions({ ...options.value, model: chosenModel.value })
  return html`<form class="composer" onSubmit=${submit} aria-label="Your message">
    ${problem !== null && html`<p class="problem" role="alert">${problem} Choose another model under “Options”, or edit the assistant.</p>`}
    ${isUnfolded && html`<${TurnOptions} />`}
    <${Attached} />
    <textarea
      ref=${field}
      rows="1"
      aria-label="Message"
      placeholder=${assistant.value === null ? "Make an assistant first" : `Message ${assistant.value.name}`}
      disabled=${assistant.value === null}
      value=${text}
      onInput=${(event: Event) => {
        if (event.currentTarget instanceof HTMLTextAreaElement) setText(event.currentTarget.value)
      }}
      onKeyDown=${onKey}
      onPaste=${onPaste}
    ></textarea>
    <div class="row">
      <span class="row">
        ${can.value.documents && html`<${AttachButton} />`}
        ${can.value.voice && listeners.value.length > 0 && html`<${TalkButton} isReady=${isReady} onSpeech=${(audio: Blob) => deliver(text.trim(), audio)} />`}
        <button type="button" class="quiet-button" aria-expanded=${isUnfolded} onClick=${() => unfold(!isUnfolded)}>
          <${Icon} name="options" /> Options${active > 0 && html` <span class="badge">${active}</span>`}
        </button>
      </span>
      <span class="row">
        ${
          (isRunning || isWaiting) &&
          html`<button type="button" onClick=${() => act(() => conversation.cancel())()} title=${isRunning ? "Escape" : ""}><${Icon} name="stop" /> Cancel</button>`
        }
        <button class=${classes("send", !isWaiting && "primary")} disabled=${!isReady || (text.trim() === "" && uploads.value.length === 0) || isBeingRead()}>
          <${Icon} name="send" /> Send
        </button>
      </span>
    </div>
  </form>`
}

/** Whether the newest question with this text reached the server. */
const wasSent = (content: string): boolean =>
  conversation.entries.value.some((entry) => entry.kind === "question" && entry.text === content && entry.isSent)

const grow = (field: HTMLTextAreaElement | null): void => {
  if (field === null) return
  field.style.height = "auto"
  field.style.height = `${Math.min(field.scrollHeight, 220)}px`
}

const voiceIn = (body: JsonRecord): JsonRecord => (isRecord(body["voice"]) ? { tts: {} } : {})

const shownAttachment = ({ documentId, name, size, status }: Upload): Attachment => ({
  document_id: documentId ?? "",
  filename: name,
  status,
  file_size_bytes: size,
  summary: null,
  mime_type: null,
  url: ""
})

const Attached = (): View =>
  uploads.value.length === 0
    ? null
    : html`<ul class="attached" aria-label="Attached files">
        ${uploads.value.map(
          (upload) =>
            html`<li key=${upload.key}>
              <${AttachedFile} attachment=${shownAttachment(upload)} />
              ${upload.message !== null && html`<span class="problem" role="alert">${upload.message}</span>`}
              <${IconButton} icon="close" label="Remove ${upload.name}" onClick=${() => act(removeUpload)(upload)} />
            </li>`
        )}
      </ul>`

const AttachButton = (): View =>
  html`<${FileChooser}
    onFiles=${attach}
    button=${(choose: () => void) => html`<${IconButton} icon="clip" label="Attach files" onClick=${choose} />`}
  />`

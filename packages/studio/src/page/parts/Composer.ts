/** The input of the user: text, files (dropped, pasted or chosen), the options of the turn, and the button that stops it. */
import { modelsOfType, catalogueProblem, readModelName } from "../state/catalogue.ts"
import { removeUpload } from "../state/documents.ts"
import { type ActiveOption, activeOptions, options, resetOption } from "../state/options.ts"
import {
  attach,
  attached,
  draft,
  isStuck,
  queue,
  type Queued,
  queuedFiles,
  send,
  sendWithout,
  shownAttachment,
  takeBack
} from "../state/outbox.ts"
import { act, assistant, assistantName, can, conversation } from "../state/studio.ts"
import { classes, html, lazy, loadStyles, useEffect, useRef, useState, type View } from "../view.ts"
import { FileChooser } from "./FileChooser.ts"
import { Icon, IconButton } from "./Icon.ts"
import { AttachedFile } from "./QuestionItem.ts"

const TalkButton = lazy(async () => (await import("./TalkButton.ts")).TalkButton)
const TurnOptions = lazy(async () => {
  const [{ TurnOptions: Panel }] = await Promise.all([import("./TurnOptions.ts"), loadStyles("options")])
  return Panel
})

const listeners = modelsOfType("stt")

/** The catalogue's problem with the model of the next message. */
const modelProblem = (): string | null => {
  if (options.value.isAsking) return null
  const { llm_provider: provider = null, model_name: model = null } = assistant.value ?? {}
  const { model: chosen } = options.value
  return catalogueProblem(chosen === "" ? { provider, model } : readModelName(chosen))
}

export const Composer = (): View => {
  const field = useRef<HTMLTextAreaElement>(null)
  const [isUnfolded, unfold] = useState(false)
  const text = draft.value
  const isReady = !conversation.isRunning.value
  const isWaiting = conversation.waiting.value !== null
  const isEmpty = text.trim() === "" && attached().length === 0
  const problem = modelProblem()
  useEffect(() => {
    if (!isWaiting) field.current?.focus({ preventScroll: true })
  }, [conversation.threadId.value])
  useEffect(() => grow(field.current), [text])

  const submit = (event: Event) => {
    event.preventDefault()
    if (!isEmpty && isReady) act(send)(text.trim())
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event)
  }
  const onPaste = (event: ClipboardEvent) => {
    const pasted = [...(event.clipboardData?.files ?? [])]
    if (pasted.length === 0) return
    event.preventDefault()
    act(attach)(pasted)
  }
  const active = activeOptions(options.value, can.value)
  return html`<form class="composer" onSubmit=${submit} aria-label="Your message">
    ${problem !== null && !isUnfolded && html`<p class="problem" role="alert">${problem} Choose another model under “Options”, or edit the assistant.</p>`}
    ${isUnfolded && html`<${TurnOptions} />`}
    <${Queue} />
    <${Attached} />
    ${active.length > 0 && html`<${Chips} active=${active} onOpen=${() => unfold(true)} />`}
    <div class="field">
      <textarea
        ref=${field}
        rows="1"
        dir="auto"
        aria-label="Message"
        placeholder="Message ${assistantName.value}"
        value=${text}
        onInput=${(event: Event) => {
          if (event.currentTarget instanceof HTMLTextAreaElement) draft.value = event.currentTarget.value
        }}
        onKeyDown=${onKey}
        onPaste=${onPaste}
      ></textarea>
      <div class="row">
        <span class="row">
          ${can.value.documents && html`<${AttachButton} />`}
          ${can.value.voice && listeners.value.length > 0 && html`<${TalkButton} isReady=${isReady} onSpeech=${(audio: Blob) => send(text.trim(), audio)} />`}
          <button type="button" class="quiet-button" aria-expanded=${isUnfolded} onClick=${() => unfold(!isUnfolded)}>
            <${Icon} name="options" /> Options${active.length > 0 && html` <span class="badge">${active.length}</span>`}
          </button>
        </span>
        <span class="row">
          ${
            (!isReady || isWaiting) &&
            html`<button type="button" onClick=${() => act(() => conversation.cancel())()} title=${isReady ? "" : "Escape"}><${Icon} name="stop" /> Cancel</button>`
          }
          <button class=${classes("send", !isWaiting && "primary")} disabled=${!isReady || isEmpty}>
            <${Icon} name="send" /> Send
          </button>
        </span>
      </div>
    </div>
  </form>`
}

interface ChipsProps {
  readonly active: ReadonlyArray<ActiveOption>
  readonly onOpen: () => void
}

/** The options that were chosen for this thread. A chip opens the options, and its cross resets its option. */
const Chips = ({ active, onOpen }: ChipsProps): View =>
  html`<ul class="option-chips" aria-label="Options of this thread">
    ${active.map(
      ({ name, word }) =>
        html`<li class="chip" key=${name}>
          <button type="button" class="quiet" onClick=${onOpen}>${word}</button>
          <${IconButton} icon="close" label="Without: ${word}" onClick=${() => resetOption(name)} />
        </li>`
    )}
  </ul>`

const grow = (field: HTMLTextAreaElement | null): void => {
  if (field === null) return
  field.style.height = "auto"
  field.style.height = `${Math.min(field.scrollHeight, 220)}px`
}

/** The messages of this thread that wait for their files. */
const Queue = (): View => {
  const own = queue.value.filter(({ threadId }) => threadId === conversation.threadId.value)
  return own.length === 0
    ? null
    : html`<ul class="queue" aria-label="Waiting messages">
        ${own.map((each) => html`<${QueuedItem} key=${each.key} queued=${each} />`)}
      </ul>`
}

const QueuedItem = ({ queued }: { readonly queued: Queued }): View => {
  const files = queuedFiles(queued)
  const late = files.filter(({ status }) => status !== "completed").map(({ name }) => name)
  const stuck = isStuck(queued)
  return html`<li>
    <p dir="auto">${queued.audio === null ? queued.body.content : "Spoken message"}</p>
    <div class="row">
      <span class=${classes("detail", stuck && "problem")} role="status">
        ${stuck ? `${late.join(", ")} could not be read.` : `It is sent when ${late.join(", ")} is read.`}
      </span>
      <span class="row">
        ${stuck && html`<button type="button" class="quiet" onClick=${() => sendWithout(queued)}>Send without</button>`}
        <button type="button" class="quiet" onClick=${() => takeBack(queued)}>Take back</button>
      </span>
    </div>
  </li>`
}

const Attached = (): View =>
  attached().length === 0
    ? null
    : html`<ul class="attached" aria-label="Attached files">
        ${attached().map(
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
    onFiles=${act(attach)}
    button=${(choose: () => void) => html`<${IconButton} icon="clip" label="Attach files" onClick=${choose} />`}
  />`

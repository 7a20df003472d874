/** Where the user writes: text, files by drop, paste or choice, the options of the turn, and the way to stop it. */
import { bytes } from "../lib/format.ts"
import { problemOf, readModelName } from "../state/catalogue.ts"
import { activeOptions, bodyFor, options } from "../state/options.ts"
import { act, assistant, can, conversation, notice } from "../state/place.ts"
import { classes, html, signal, useEffect, useRef, useState, type View } from "../view.ts"
import { Icon, IconButton } from "./Icon.ts"
import { TurnOptions } from "./TurnOptions.ts"

const files = signal<ReadonlyArray<File>>([])

export const attach = (added: Iterable<File>): void => {
  if (!can.value.documents) {
    notice.value = "This server keeps no documents, so nothing can be attached."
    return
  }
  files.value = [...files.value, ...added]
}

/** What the catalogue says of the model that the next message would go to. */
const modelProblem = (): string | null => {
  if (options.value.isAsking) return null
  const { llm_provider: provider = null, model_name: model = null } = assistant.value ?? {}
  return problemOf(options.value.model === "" ? { provider, model } : readModelName(options.value.model))
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
    const attached = files.value
    if ((content === "" && attached.length === 0) || !isReady) return
    const body = bodyFor(content, options.value, can.value)
    setText("")
    files.value = []
    try {
      await conversation.send(
        { body, files: attached, audio: null },
        content === "" ? (attached[0]?.name ?? "") : content
      )
    } catch (error) {
      const isKept = conversation.entries.value.some((entry) => entry.kind === "question" && entry.text === content)
      if (!isKept || !conversation.isRunning.value) setText((now) => (now === "" && !wasSent(content) ? content : now))
      if (!wasSent(content)) files.value = [...attached, ...files.value]
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
  const active = activeOptions(options.value)
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
        <button type="button" class="quiet-button" aria-expanded=${isUnfolded} onClick=${() => unfold(!isUnfolded)}>
          <${Icon} name="options" /> Options${active > 0 && html` <span class="badge">${active}</span>`}
        </button>
      </span>
      <span class="row">
        ${
          (isRunning || isWaiting) &&
          html`<button type="button" onClick=${() => act(() => conversation.cancel())()} title="Escape"><${Icon} name="stop" /> Cancel</button>`
        }
        <button class=${classes("send", !isWaiting && "primary")} disabled=${!isReady || (text.trim() === "" && files.value.length === 0)}>
          <${Icon} name="send" /> Send
        </button>
      </span>
    </div>
  </form>`
}

/** The newest question of this text reached the server. */
const wasSent = (content: string): boolean =>
  conversation.entries.value.some((entry) => entry.kind === "question" && entry.text === content && entry.isSent)

const grow = (field: HTMLTextAreaElement | null): void => {
  if (field === null) return
  field.style.height = "auto"
  field.style.height = `${Math.min(field.scrollHeight, 220)}px`
}

const Attached = (): View =>
  files.value.length === 0
    ? null
    : html`<ul class="attached" aria-label="Attached files">
        ${files.value.map(
          (file, index) =>
            html`<li class="chip">
              <${Icon} name="file" /> <span>${file.name}</span> <small>${bytes(file.size)}</small>
              <${IconButton} icon="close" label="Remove ${file.name}" onClick=${() => (files.value = files.value.filter((_, at) => at !== index))} />
            </li>`
        )}
      </ul>`

const AttachButton = (): View => {
  const chooser = useRef<HTMLInputElement>(null)
  return html`<input
      ref=${chooser}
      type="file"
      multiple
      class="unseen"
      tabindex="-1"
      aria-hidden="true"
      onChange=${(event: Event) => {
        if (!(event.currentTarget instanceof HTMLInputElement)) return
        attach(event.currentTarget.files ?? [])
        event.currentTarget.value = ""
      }}
    /><${IconButton} icon="clip" label="Attach files" onClick=${() => chooser.current?.click()} />`
}

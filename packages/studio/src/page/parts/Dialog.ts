/**
 * A modal window over the page, closed by Escape, by its button or by its action. It asks before it is closed over something that was typed
 * into it.
 */
import { type ComponentChildren, html, useEffect, useRef, useState, type View } from "../view.ts"
import { notice } from "../state/studio.ts"
import { IconButton } from "./Icon.ts"

export interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** False: the dialog cannot be closed without its action. */
  readonly mayClose?: boolean
  readonly children?: ComponentChildren
}

let ids = 0

export const Dialog = ({ children, mayClose = true, onClose, title }: DialogProps): View => {
  const frame = useRef<HTMLDialogElement>(null)
  const id = useRef(`dialog-${++ids}`)
  const isTyped = useRef(false)
  const [isAsking, ask] = useState(false)
  /** The problem that was told before the dialog opened. Others are told in it, because what is behind it is out of reach. */
  const before = useRef(notice.value)
  if (notice.value === null) before.current = null
  useEffect(() => {
    const dialog = frame.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  const leave = () => {
    if (isTyped.current) ask(true)
    else if (mayClose) onClose()
  }
  const onCancel = (event: Event) => {
    event.preventDefault()
    leave()
  }
  // A browser closes a dialog without asking when Escape is pressed again and again.
  const onForcedClose = () => {
    if (frame.current?.isConnected !== true || frame.current.open) return
    frame.current.showModal()
    leave()
  }
  return html`<dialog
    ref=${frame}
    aria-labelledby=${id.current}
    onCancel=${onCancel}
    onClose=${onForcedClose}
    onInput=${() => (isTyped.current = true)}
  >
    <header>
      <h2 id=${id.current}>${title}</h2>
      ${mayClose && html`<${IconButton} icon="close" label="Close" onClick=${leave} />`}
    </header>
    ${isAsking && mayClose && html`<${Unsaved} onKeep=${() => ask(false)} onDiscard=${onClose} />`}
    ${notice.value !== null && notice.value !== before.current && html`<p class="problem" role="alert">${notice.value}</p>`}
    ${children}
  </dialog>`
}

const Unsaved = ({ onDiscard, onKeep }: { readonly onDiscard: () => void; readonly onKeep: () => void }): View =>
  html`<div class="banner" role="alert">
    <p>What you typed is not saved.</p>
    <span class="actions">
      <button type="button" onClick=${onKeep}>Keep writing</button>
      <button type="button" class="danger" onClick=${onDiscard}>Discard it</button>
    </span>
  </div>`

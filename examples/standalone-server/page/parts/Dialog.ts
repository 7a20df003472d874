/** A window over the page: modal, closed by Escape, its own button or what is done in it. */
import { type ComponentChildren, html, useEffect, useRef, type View } from "../view.ts"
import { IconButton } from "./Icon.ts"

export interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** Without it there is no way around the dialog. */
  readonly mayClose?: boolean
  readonly children?: ComponentChildren
}

let ids = 0

export const Dialog = ({ children, mayClose = true, onClose, title }: DialogProps): View => {
  const frame = useRef<HTMLDialogElement>(null)
  const id = useRef(`dialog-${++ids}`)
  useEffect(() => {
    const dialog = frame.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  const onCancel = (event: Event) => {
    event.preventDefault()
    if (mayClose) onClose()
  }
  return html`<dialog ref=${frame} aria-labelledby=${id.current} onCancel=${onCancel}>
    <header>
      <h2 id=${id.current}>${title}</h2>
      ${mayClose && html`<${IconButton} icon="close" label="Close" onClick=${onClose} />`}
    </header>
    ${children}
  </dialog>`
}

/** A modal window over the page, closed by Escape, by its button or by its action. */
import { type ComponentChildren, html, useEffect, useRef, type View } from "../view.ts"
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

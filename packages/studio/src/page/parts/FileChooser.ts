/** The platform's dialog for choosing files, opened by our own button. */
import { html, useRef, type View } from "../view.ts"

interface FileChooserProps {
  readonly onFiles: (files: ReadonlyArray<File>) => void
  /** `choose` opens the dialog. */
  readonly button: (choose: () => void) => View
}

export const FileChooser = ({ button, onFiles }: FileChooserProps): View => {
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
        onFiles([...(event.currentTarget.files ?? [])])
        event.currentTarget.value = ""
      }}
    />${button(() => chooser.current?.click())}`
}

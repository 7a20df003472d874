/** A button to hold while speaking; the recording becomes the message when it is released. */
import { record, type Recording } from "../audio/recorder.ts"
import { act, notice } from "../state/studio.ts"
import { html, useRef, useState, type View } from "../view.ts"
import { Icon } from "./Icon.ts"

export interface TalkButtonProps {
  readonly isReady: boolean
  readonly onSpeech: (audio: Blob) => Promise<void>
}

export const TalkButton = ({ isReady, onSpeech }: TalkButtonProps): View => {
  const recording = useRef<Promise<Recording> | null>(null)
  const [isHeld, setHeld] = useState(false)
  const begin = () => {
    if (recording.current !== null || !isReady) return
    notice.value = null
    setHeld(true)
    recording.current = record()
  }
  const end = async () => {
    const held = recording.current
    recording.current = null
    setHeld(false)
    if (held === null) return
    const audio = await (await held).stop()
    if (audio !== null) await onSpeech(audio)
  }
  const isKey = ({ key }: KeyboardEvent) => key === " " || key === "Enter"
  return html`<button
    type="button"
    class="icon-button"
    aria-label="Hold to talk"
    title="Hold to talk"
    aria-pressed=${isHeld}
    disabled=${!isReady}
    onPointerDown=${begin}
    onPointerUp=${act(end)}
    onPointerLeave=${act(end)}
    onKeyDown=${(event: KeyboardEvent) => {
      if (!isKey(event)) return
      event.preventDefault()
      begin()
    }}
    onKeyUp=${(event: KeyboardEvent) => {
      if (isKey(event)) act(end)()
    }}
  >
    <${Icon} name="mic" />
  </button>`
}

/** A button to hold while speaking; the recording becomes the message when it is released. */
import { record, type Recording } from "../audio/recorder.ts"
import { act, notice } from "../state/studio.ts"
import { html, useEffect, useRef, useState, type View } from "../view.ts"
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
  const release = () => {
    if (recording.current !== null) act(end)()
  }
  // The microphone is not left on when the button goes while it is held.
  useEffect(() => () => void recording.current?.then((held) => held.stop()).catch(() => {}), [])
  const isKey = ({ key }: KeyboardEvent) => key === " " || key === "Enter"
  return html`<button
    type="button"
    class="icon-button"
    aria-label="Hold to talk"
    title="Hold to talk"
    aria-pressed=${isHeld}
    disabled=${!isReady}
    onPointerDown=${begin}
    onPointerUp=${release}
    onPointerLeave=${release}
    onKeyDown=${(event: KeyboardEvent) => {
      if (!isKey(event)) return
      event.preventDefault()
      begin()
    }}
    onBlur=${release}
    onKeyUp=${(event: KeyboardEvent) => {
      if (isKey(event)) release()
    }}
  >
    <${Icon} name="mic" />
  </button>`
}

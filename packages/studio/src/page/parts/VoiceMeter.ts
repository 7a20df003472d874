/**
 * The round meter of a voice session. It shows whether the assistant listens, thinks or speaks, the loudness of user or assistant, and the
 * time to the first sound.
 */
import { loudness } from "../audio/player.ts"
import { briefly } from "../lib/format.ts"
import { phase, latencies, look, meters, type Phase } from "../state/voice.ts"
import { html, useEffect, useRef, type View } from "../view.ts"

const words: Readonly<Record<Phase, string>> = {
  opening: "It is being called",
  listening: "It listens",
  thinking: "It thinks",
  speaking: "It speaks"
}

const level = (meter: AnalyserNode | null): number => (meter === null ? 0 : loudness(meter))

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

export const VoiceMeter = (): View => {
  const disc = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const timer = setInterval(() => {
      const { heard, said } = meters()
      const [you, assistant] = [level(heard), level(said)]
      look(you)
      disc.current?.style.setProperty("--heard", you.toFixed(3))
      disc.current?.style.setProperty("--said", assistant.toFixed(3))
    }, 60)
    return () => clearInterval(timer)
  }, [])
  const all = latencies.value
  const last = all.at(-1)
  return html`<div class="voice-meter">
    <div class="disc is-${phase.value}" ref=${disc} aria-hidden="true"><span></span></div>
    <p class="phase" role="status">${words[phase.value]}</p>
    <p class="hint">
      ${
        last === undefined
          ? "The time to its first sound stands here."
          : `${briefly(last)} from the end of your words to its first sound${all.length > 2 ? `, usually ${briefly(median(all))}` : ""}`
      }
    </p>
  </div>`
}

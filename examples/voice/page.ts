/** A voice session in a browser: a ticket from the page's own backend, then the client of the package. `talk.js` is a page around it. */
import { RealtimeClient } from "@colloquy/ws/client"

export interface Ears {
  /** The socket of the API: `wss://chat.example/ai/threads/realtime`. */
  readonly url: string
  /** Signed 16-bit samples of one channel. */
  readonly play: (audio: Uint8Array, sampleRate: number) => void
  readonly stopPlaying: () => void
  /** What one of the two has said so far. The words under one id grow, and are replaced at their end. */
  readonly onWords: (words: { id: string; role: string; text: string; isFinal: boolean }) => void
  /** The session hears from now on, at this rate. */
  readonly onBegin: (sampleRate: number) => void
  readonly onProblem: (message: string) => void
  readonly onEnd: () => void
}

export const begin = async (ears: Ears): Promise<RealtimeClient> => {
  const answer = await fetch("/voice-ticket", { method: "POST" })
  const ticket = await answer.text()
  const heard = new Map<string, string>()
  const client = new RealtimeClient({
    url: ears.url,
    ticket,
    first: { provider: "demo", model: "demo-voice-1" },
    onClose: ears.onEnd,
    onEvent: (event) => {
      if (event.type === "session.begin") ears.onBegin(event.input_format.sample_rate)
      if (event.type === "audio.delta")
        ears.play(
          Uint8Array.from(atob(event.data), (letter) => letter.charCodeAt(0)),
          event.sample_rate
        )
      if (event.type === "interrupted") ears.stopPlaying()
      if (event.type === "transcript.delta" || event.type === "transcript.final") {
        const { item_id: id, role } = event
        const isFinal = event.type === "transcript.final"
        const text = isFinal ? event.text : (heard.get(id) ?? "") + event.text
        heard.set(id, text)
        ears.onWords({ id, role, text, isFinal })
      }
      if (event.type === "tool.call" && !event.hosted) {
        const { name, tool_call_id } = event
        client.sendToolOutputs([{ tool_call_id, name, output: { temperature: 21 } }])
      }
      if (event.type === "error") ears.onProblem(event.message)
    }
  })
  return client
}

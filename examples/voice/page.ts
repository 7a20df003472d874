/** A voice session in a browser: a ticket from the page's own backend, then the client of the package. `index.html` is a page around it. */
import { RealtimeClient } from "@colloquy/ws/client"

export interface Ears {
  /** The socket of the API: `wss://chat.example/ai/threads/realtime`. */
  readonly url: string
  /** Signed 16-bit samples of one channel. */
  readonly play: (audio: Uint8Array, sampleRate: number) => void
  readonly stopPlaying: () => void
  readonly onWords: (role: string, text: string) => void
  /** The session hears from now on, at this rate. */
  readonly onBegin: (sampleRate: number) => void
  readonly onEnd: () => void
}

export const begin = async ({ onBegin, onEnd, onWords, play, stopPlaying, url }: Ears): Promise<RealtimeClient> => {
  const answer = await fetch("/voice-ticket", { method: "POST" })
  const ticket = await answer.text()
  const client = new RealtimeClient({
    url,
    ticket,
    first: { provider: "demo", model: "demo-voice-1" },
    onClose: onEnd,
    onEvent: (event) => {
      if (event.type === "session.begin") onBegin(event.input_format.sample_rate)
      if (event.type === "audio.delta")
        play(
          Uint8Array.from(atob(event.data), (letter) => letter.charCodeAt(0)),
          event.sample_rate
        )
      if (event.type === "interrupted") stopPlaying()
      if (event.type === "transcript.final") onWords(event.role, event.text)
      if (event.type === "tool.call" && !event.hosted) {
        const { name, tool_call_id } = event
        client.sendToolOutputs([{ tool_call_id, name, output: { temperature: 21 } }])
      }
      if (event.type === "error") onWords("error", event.message)
    }
  })
  return client
}

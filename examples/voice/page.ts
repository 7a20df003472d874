/** A voice session in a browser: a ticket from the page's own backend, then the client of the package. */
import { RealtimeClient } from "@colloquy/ws/client"

export const begin = async (play: (audio: Uint8Array) => void, stopPlaying: () => void): Promise<RealtimeClient> => {
  const answer = await fetch("/voice-ticket", { method: "POST" })
  const ticket = await answer.text()
  const client = new RealtimeClient({
    url: "wss://chat.example/ai/threads/realtime",
    ticket,
    first: { provider: "demo", model: "demo-voice-1" },
    onEvent: (event) => {
      if (event.type === "audio.delta") play(Uint8Array.from(atob(event.data), (letter) => letter.charCodeAt(0)))
      if (event.type === "interrupted") stopPlaying()
      if (event.type === "transcript.final") console.log(`${event.role}: ${event.text}`)
      if (event.type === "tool.call" && !event.hosted) {
        const { name, tool_call_id } = event
        client.sendToolOutputs([{ tool_call_id, name, output: { temperature: 21 } }])
      }
      if (event.type === "error") console.error(event.code, event.message)
    }
  })
  return client
}

/**
 * A vendor of voice models that speaks OpenAI's realtime wire: for each piece of audio that it gets it gives one back, of the same length.
 * Asked for an answer, it sends sound as fast as it is taken.
 */
import { createServer } from "node:http"
import { WebSocket, WebSocketServer } from "ws"
import { serve } from "./Child.ts"

const server = createServer()
const sockets = new WebSocketServer({ server, perMessageDeflate: false })
const audioKey = '"audio":"'

const delta = (audio: string): string =>
  `{"type":"response.output_audio.delta","event_id":"event_1","response_id":"resp_1","item_id":"item_1","output_index":0,"content_index":0,"delta":"${audio}"}`

const second = Buffer.alloc(48_000).toString("base64")

const flood = (socket: WebSocket): void => {
  if (socket.readyState === WebSocket.OPEN) socket.send(delta(second), () => flood(socket))
}

sockets.on("connection", (socket) => {
  socket.send('{"type":"session.created","session":{}}')
  socket.on("message", (data: Buffer) => {
    const text = data.toString("latin1")
    if (text.startsWith('{"type":"input_audio_buffer.append"')) {
      const at = text.indexOf(audioKey) + audioKey.length
      const audio = text.slice(at, text.indexOf('"', at))
      socket.send(delta(audio))
    } else if (text.startsWith('{"type":"response.create"')) {
      flood(socket)
    } else if (text.startsWith('{"type":"session.update"')) {
      socket.send('{"type":"session.updated","session":{}}')
      socket.send('{"type":"response.created","response":{"id":"resp_1"}}')
    }
  })
})
await serve(server)

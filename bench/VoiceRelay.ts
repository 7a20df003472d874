/** The baseline of voice sessions: a relay on the same library that does nothing but slice audio from one wire to the other. */
import { createServer } from "node:http"
import { WebSocket, WebSocketServer } from "ws"
import { serve } from "./Child.ts"

const kind = Buffer.from('"response.output_audio.delta"')
const deltaKey = Buffer.from('"delta":"')
const itemKey = Buffer.from('"item_id":"')
const opening = '{"type":"audio.delta","item_id":"'
const middle = '","data":"'
const ending = '","encoding":"pcm_s16le","sample_rate":24000,"channels":1}'

const audioDelta = (message: Buffer): Buffer => {
  const itemAt = message.indexOf(itemKey) + itemKey.length
  const deltaAt = message.indexOf(deltaKey) + deltaKey.length
  const itemEnd = message.indexOf(34, itemAt)
  const deltaEnd = message.indexOf(34, deltaAt)
  return Buffer.concat([
    Buffer.from(opening),
    message.subarray(itemAt, itemEnd),
    Buffer.from(middle),
    message.subarray(deltaAt, deltaEnd),
    Buffer.from(ending)
  ])
}

const server = createServer()
const sockets = new WebSocketServer({ server, perMessageDeflate: false })
sockets.on("connection", (client) => {
  const vendor = new WebSocket(process.env["BENCH_VENDOR"] ?? "", { perMessageDeflate: false })
  vendor.on("message", (data: Buffer) => {
    if (data.subarray(0, 256).indexOf(kind) >= 0) client.send(audioDelta(data), { binary: false })
    else if (data.includes("session.created")) vendor.send('{"type":"session.update","session":{}}')
    else if (data.includes("session.updated")) client.send('{"type":"session.begin"}')
  })
  client.on("message", (data: Buffer, isBinary: boolean) => {
    if (isBinary) vendor.send(`{"type":"input_audio_buffer.append","audio":"${data.toString("base64")}"}`)
  })
  client.on("close", () => vendor.close())
})
await serve(server)

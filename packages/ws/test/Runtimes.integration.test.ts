/**
 * The socket under every runtime of JavaScript that is installed here: the same program, with the runtime's own `node:http`. Bun and Deno
 * are tested where they are (`npm install bun deno` brings both); Node always.
 */
import { assert, describe, it } from "@effect/vitest"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { WebSocket } from "ws"
import { startVendor, type VendorSocket } from "../../adapters/test/realtime/FakeVendor.ts"
import { rawClient } from "./Service.ts"
import { voiceFrame } from "./VendorService.ts"
import { loopTurn } from "../../../test/until.ts"

const runtimes = [
  { name: "Node", command: process.execPath, flags: ["--conditions=colloquy-source"] },
  { name: "Bun", command: "bun", flags: ["--conditions=colloquy-source", "run"] },
  {
    name: "Deno",
    command: "deno",
    flags: ["run", "--allow-all", "--conditions=colloquy-source", "--node-modules-dir=manual"]
  }
]

const isInstalled = (command: string): boolean => spawnSync(command, ["--version"]).status === 0

const start = async (command: string, flags: ReadonlyArray<string>, vendorUrl: string) => {
  const program = fileURLToPath(new URL("VoiceProcess.ts", import.meta.url))
  const child = spawn(command, [...flags, program], { env: { ...process.env, VENDOR_URL: vendorUrl } })
  const ended = once(child, "close")
  let output = ""
  const [host, key] = await new Promise<ReadonlyArray<string>>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (piece: Buffer) => {
        output += piece.toString()
        const found = /listens (\S+) (\S+) \./u.exec(output)
        if (found !== null) resolve(found.slice(1))
      })
    }
    child.once("close", () => reject(new Error(output)))
  })
  return {
    host: host ?? "",
    key: key ?? "",
    child,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL")
      await ended
    }
  }
}

const setUp = async (there: VendorSocket): Promise<void> => {
  there.say({ type: "session.created", session: {} })
  await there.message(({ type }) => type === "session.update")
  there.say({ type: "session.updated", session: {} })
  there.say({ type: "response.created", response: { id: "r1" } })
}

const sound = (audio: Buffer) => ({
  type: "response.output_audio.delta",
  response_id: "r1",
  item_id: "a1",
  delta: audio.toString("base64")
})

describe("the socket under", () => {
  for (const { command, flags, name } of runtimes) {
    const isHere = isInstalled(command)
    it.skipIf(!isHere)(`${name}${isHere ? "" : " (is not installed)"}`, { timeout: 180_000 }, async () => {
      const vendor = await startVendor()
      await using service = await start(command, flags, vendor.url)
      const { child, host, key } = service
      const url = `ws://${host}/ai/threads/realtime`
      assert.strictEqual(await (await fetch(`http://${host}/anything`)).text(), "host")
      const refused = new WebSocket(`${url}?api_key=${key}`).on("error", () => {})
      const [, { statusCode }] = await once(refused, "unexpected-response")
      assert.strictEqual(statusCode, 400)
      const stranger = rawClient(url, { key: "wrong", first: voiceFrame })
      assert.strictEqual((await stranger.heard("error"))["code"], "unauthorized")
      assert.strictEqual(await stranger.closed, 1008)

      const client = rawClient(url, { key, first: voiceFrame })
      const there = await vendor.connection()
      assert.strictEqual(there.request.headers.authorization, "Bearer sk-host")
      await setUp(there)
      await client.heard("session.begin")
      const microphone = Buffer.from(Array.from({ length: 9600 }, (_, index) => (index * 7919) % 256))
      for (let from = 0; from < microphone.length; from += 960) {
        client.socket.send(microphone.subarray(from, from + 960))
      }
      const appended = () =>
        Buffer.concat(there.received.map(({ audio }) => Buffer.from(typeof audio === "string" ? audio : "", "base64")))
      await there.message(() => appended().length >= microphone.length)
      assert.isTrue(appended().equals(microphone))

      // More than the outbox holds, to a client that looks away for a while.
      client.socket.pause()
      const second = Buffer.from(Array.from({ length: 48_000 }, (_, index) => (index * 31) % 256))
      for (let spoken = 0; spoken < 400; spoken++) there.say(sound(second))
      await loopTurn()
      client.socket.resume()
      there.say({ type: "response.done", response: { id: "r1", status: "completed", usage: {} } })
      await client.heard("response.done")
      const played = client.events.filter(({ type }) => type === "audio.delta").map(({ data }) => data)
      assert.lengthOf(played, 400)
      assert.isTrue(played.every((data) => data === second.toString("base64")))

      child.kill("SIGTERM")
      assert.strictEqual(await client.closed, 1001)
      assert.strictEqual(client.events.at(-1)?.["type"], "session.ended")
      await vendor.close()
    })
  }
})

/**
 * The custom server of this folder in front of the real Next, in development and in production, in a copy that Next may write to: pages,
 * the API, a voice session and Next's own WebSocket on one port. Next ends upgrades of paths that match one of its routes, and this
 * application has such a route.
 */
import { RealtimeClient, type RealtimeEvent } from "@colloquy/ws/client"
import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { WebSocket } from "ws"

const examples = join(dirname(fileURLToPath(import.meta.url)), "..")
const key = { "x-api-key": "key-of-ada" }

/** Inside the repository, because Next only uses files of its workspace. */
const copyApplication = () => {
  const place = join(examples, "../.vitest")
  mkdirSync(place, { recursive: true })
  const folder = mkdtempSync(join(place, "next-voice-"))
  for (const part of ["voice/server.ts", "voice/next"])
    cpSync(join(examples, part), join(folder, part), { recursive: true })
  return {
    folder: join(folder, "voice/next"),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

const environment = { ...process.env, NEXT_TELEMETRY_DISABLED: "1", PORT: "0" }

const build = async (folder: string): Promise<void> => {
  const next = join(examples, "../node_modules/next/dist/bin/next")
  const child = spawn(process.execPath, [next, "build"], {
    cwd: folder,
    env: { ...environment, NODE_ENV: "production" }
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => (output += String(piece)))
  const [code] = await once(child, "close")
  assert.strictEqual(code, 0, output)
}

const serve = async (folder: string, mode: Mode) => {
  const child = spawn(process.execPath, ["--conditions=colloquy-source", "server.mjs"], {
    cwd: folder,
    env: { ...environment, NODE_ENV: mode }
  })
  let output = ""
  const ended = once(child, "close")
  const host = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (piece: Buffer) => {
        output += piece.toString()
        const [, found] = /http:\/\/(127\.0\.0\.1:\d+)/u.exec(output) ?? []
        if (found !== undefined) resolve(found)
      })
    }
    child.once("close", () => reject(new Error(output)))
  })
  return {
    host,
    child,
    ended,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL")
      await ended
    }
  }
}

type Mode = "development" | "production"

const answers = async (host: string): Promise<void> => {
  assert.strictEqual(await (await fetch(`http://${host}/hello`)).text(), "Hello from Next")
  assert.deepStrictEqual(await (await fetch(`http://${host}/ai/threads`, { headers: key })).json(), [])
}

/** A session that hears an answer, and then the end of the server. */
const talk = async ({ child, ended, host }: Awaited<ReturnType<typeof serve>>): Promise<void> => {
  const events: Array<RealtimeEvent> = []
  const closed = await new Promise<number>((resolve) => {
    const session = new RealtimeClient({
      url: `ws://${host}/ai/threads/realtime`,
      first: { provider: "demo", model: "demo-voice-1" },
      open: (url) => new WebSocket(url, { headers: key }),
      onEvent: (event) => {
        events.push(event)
        if (event.type === "session.begin") session.sendText("Hello")
        if (event.type === "response.done") child.kill("SIGTERM")
      },
      onClose: resolve
    })
  })
  assert.strictEqual(closed, 1001)
  assert.strictEqual(events[0]?.type, "session.begin")
  assert.isTrue(events.some(({ type }) => type === "audio.delta"))
  assert.strictEqual(events.at(-1)?.type, "session.ended")
  await ended
}

describe("a custom server of Next takes voice sessions", () => {
  it("in development, beside Next's pages, routes and its own WebSocket", { timeout: 120_000 }, async () => {
    using application = copyApplication()
    await using server = await serve(application.folder, "development")
    // Next handles upgrades only after its first request.
    await answers(server.host)
    const reloads = new WebSocket(`ws://${server.host}/_next/hmr`)
    await once(reloads, "open")
    reloads.terminate()
    const taken = new WebSocket(`ws://${server.host}/ai/other`)
    const [error] = await once(taken, "error")
    assert.match(String(error), /hang up|ECONNRESET/)
    await talk(server)
  })

  it("as it is built for production, beside its pages and routes", { timeout: 240_000 }, async () => {
    using application = copyApplication()
    await build(application.folder)
    await using server = await serve(application.folder, "production")
    await answers(server.host)
    const taken = new WebSocket(`ws://${server.host}/ai/other`)
    const [error] = await once(taken, "error")
    assert.match(String(error), /hang up|ECONNRESET/)
    await talk(server)
  })
})

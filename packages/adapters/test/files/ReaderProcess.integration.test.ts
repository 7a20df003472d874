/** The process in which a file is read: whatever becomes of it, its host lives and gets a sentence, and it never outlives its host. */
import { ExtractionFailed, fileTypeForExtension, TextExtractor } from "@colloquy/core/documents"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { setImmediate } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { FileExtractor } from "../../src/files/index.ts"
import { docx, paragraph, utf8 } from "./MadeFiles.ts"

const script = (name: string) => new URL(name, import.meta.url)

const extract = (extension: string, bytes: Uint8Array, options: FileExtractor.FileExtractorOptions = {}) =>
  TextExtractor.use((extractor) => {
    const type = fileTypeForExtension(extension)
    assert.isDefined(type)
    return extractor.extract({ type, size: bytes.length, bytes: Stream.make(bytes) })
  }).pipe(Effect.provide(FileExtractor.layer(options)))

const refusal = (options: FileExtractor.FileExtractorOptions) => Effect.flip(extract("txt", utf8("tea"), options))

const tooMuch = "The file is too large to be read: it needs more memory than one file may take."
const damaged = "The file cannot be read: it is damaged, incomplete, or not a file of its type."

describe("a reader that", () => {
  const readers = [
    ["pushes to one array for ever", "PushingProcess.ts", tooMuch],
    ["aborts", "AbortingProcess.ts", tooMuch],
    ["has a fault in native code", "CrashingProcess.ts", damaged],
    ["fills buffers for ever", "BufferingProcess.ts", tooMuch],
    ["answers without end", "EndlessProcess.ts", tooMuch],
    ["answers what is no message", "GarbledProcess.ts", damaged]
  ] as const
  it.live.each(readers)("%s", ([, name, sentence]) =>
    Effect.gen(function* () {
      const error = yield* refusal({ worker: script(name), heap: 64, growth: 300 })
      assert.instanceOf(error, ExtractionFailed)
      assert.strictEqual(error.message, sentence)
    })
  )

  it.live("is stopped with its host says nothing of the file", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(extract("txt", utf8("tea"), { worker: script("StoppedProcess.ts") }))
      assert.isTrue(Exit.isFailure(exit) && Exit.hasDies(exit))
    })
  )
})

it.live("a reader has nothing of its host, and stays when the host's signals reach it", () =>
  Effect.gen(function* () {
    const [section] = yield* extract("txt", utf8("tea"), { worker: script("TellingProcess.ts"), heap: 99 })
    const { denied, env, execArgv, score, signals } = JSON.parse(section?.text ?? "")
    assert.deepStrictEqual(Object.keys(env), process.platform === "win32" ? ["SystemRoot"] : [])
    assert.deepStrictEqual(signals, ["SIGINT", "SIGTERM", "SIGHUP"])
    assert.strictEqual(score, "1000")
    assert.deepStrictEqual(Object.values(denied), [true, true, true, true, true])
    const isOwn = (flag: string) =>
      flag === "--max-old-space-size=99" || /^(--conditions|-C|--permission|--allow-\w+(-\w+)?)\b/u.test(flag)
    assert.include(execArgv, "--max-old-space-size=99")
    assert.isTrue(execArgv.filter((flag: string) => flag.startsWith("-")).every(isOwn))
  })
)

it.live("a reader is another user where the host names one and may change to it", () =>
  Effect.gen(function* () {
    const user = { uid: 65_534, gid: 65_534 }
    const exit = yield* Effect.exit(extract("txt", utf8("tea"), { worker: script("TellingProcess.ts"), user }))
    if (process.getuid?.() === 0) {
      assert.isTrue(Exit.isSuccess(exit))
      const [section] = Exit.isSuccess(exit) ? exit.value : []
      assert.deepStrictEqual(JSON.parse(section?.text ?? "").user, [user.uid, user.gid])
    } else assert.isTrue(Exit.isFailure(exit) && Exit.hasDies(exit))
  })
)

/** A server on a port of its own. */
const listening = (onConnection: (socket: Socket) => void) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer(onConnection)
      server.listen(0, "127.0.0.1")
      await once(server, "listening")
      const address = server.address()
      if (typeof address !== "object" || address === null) throw new Error("The server has no port.")
      return { server, port: address.port }
    }),
    ({ server }) => Effect.sync(() => server.close())
  )

it.live("a reader that dies for once is tried again", () =>
  Effect.gen(function* () {
    const orders = ["die", "read"]
    const { port } = yield* listening((socket) => void socket.on("error", () => {}).end(orders.shift() ?? ""))
    const [section] = yield* extract("txt", utf8(String(port)), { worker: script("UnsteadyProcess.ts") })
    assert.strictEqual(section?.text, "It was told to read.")
    assert.deepStrictEqual(orders, [])
  }).pipe(Effect.scoped)
)

/** A server to which a busy reader connects: the connection ends with the process. */
const watched = Effect.gen(function* () {
  const connected = Promise.withResolvers<Socket>()
  const { port } = yield* listening((socket) => connected.resolve(socket.on("error", () => {}).resume()))
  const closed = connected.promise.then((socket) => once(socket, "close"))
  return { port: String(port), connected: connected.promise, closed }
})

/** Node closes the handle of a process that has ended in the next round of its loop. */
const noProcessIsLeft = Effect.promise(async () => {
  while (process.getActiveResourcesInfo().includes("ProcessWrap")) await setImmediate()
})

describe("a busy reader ends", () => {
  const worker = script("BusyProcess.ts")

  it.live("at the deadline", () =>
    Effect.gen(function* () {
      const { port } = yield* watched
      const error = yield* Effect.flip(extract("txt", utf8(port), { worker, deadline: "2 seconds" }))
      assert.strictEqual(
        error.message,
        "The file could not be read within 2 seconds. Split it, or save it in a simpler form."
      )
      yield* noProcessIsLeft
    }).pipe(Effect.scoped)
  )

  it.live("when its reading is interrupted", () =>
    Effect.gen(function* () {
      const { closed, connected, port } = yield* watched
      const reading = yield* Effect.forkChild(extract("txt", utf8(port), { worker }))
      yield* Effect.promise(() => connected)
      yield* Fiber.interrupt(reading)
      yield* noProcessIsLeft
      yield* Effect.promise(() => closed)
    }).pipe(Effect.scoped)
  )

  it.live("when its host is killed", () =>
    Effect.gen(function* () {
      const { closed, connected, port } = yield* watched
      const host = spawn(
        process.execPath,
        ["--conditions=colloquy-source", fileURLToPath(script("HostProcess.ts")), "./BusyProcess.ts", port],
        { stdio: "ignore" }
      )
      yield* Effect.promise(() => connected)
      host.kill("SIGKILL")
      yield* Effect.promise(() => closed)
    }).pipe(Effect.scoped)
  )
})

it.live("a host that has read a file can end, and one with an inspector reads, too", () =>
  Effect.gen(function* () {
    const host = fileURLToPath(script("HostProcess.ts"))
    const flags = ["--inspect=127.0.0.1:0", "--conditions", "colloquy-source"]
    const { stdout } = yield* Effect.promise(() => promisify(execFile)(process.execPath, [...flags, host, "", "tea"]))
    assert.strictEqual(stdout, "tea\n")
  })
)

it.live("twenty million characters come back, and not one more", () =>
  Effect.gen(function* () {
    const long = `${"tea ".repeat(4_999_999)}日本茶`
    const [section] = yield* extract("txt", utf8(long))
    assert.isTrue(section?.text === long)
    const text = "tea ".repeat(5_000_001)
    const error = yield* Effect.flip(extract("docx", docx(paragraph(text))))
    assert.strictEqual(
      error.message,
      "The file is too large to be read: it has more than 20 million characters of text."
    )
  })
)

/**
 * What spoken answers cost: CPU for each spoken second, and the time from the last word of an answer to the last piece of its sound. Beside
 * it a raw relay, which asks the same vendor for the same sentences, one ahead, and writes every piece as base64: the least that anybody
 * has to do. The vendor is a process of its own, gives half a second of samples for each word, and has no pauses.
 *
 *     node --conditions=colloquy-source bench/speech.ts
 */
import { InMemory } from "@colloquy/adapters/in-memory"
import * as OpenAi from "@colloquy/adapters/openai"
import { Kernel, Principal, Providers, Turns } from "@colloquy/core"
import { type ChatEvent, noUsage } from "@colloquy/core/adapters"
import { Voice } from "@colloquy/core/voice"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { fork } from "node:child_process"
import { createServer, request } from "node:http"
import { fileURLToPath } from "node:url"

const sentences = Array.from(
  { length: 40 },
  (_, index) => `This is sentence ${index} of a long answer that is read aloud. `
)
const rate = 24_000
/** Samples of half a second. */
const word = Buffer.alloc(rate, 1)
const wordsOf = (text: string): number => text.trim().split(/\s+/u).length
const secondsOf = (bytes: number): number => bytes / (rate * 2)

const serveVendor = (): void => {
  const server = createServer((asked, answer) => {
    if (asked.method !== "POST") return void answer.writeHead(404).end()
    const pieces: Array<Buffer> = []
    asked.on("data", (piece: Buffer) => pieces.push(piece))
    asked.on("end", () => {
      const text = String(JSON.parse(Buffer.concat(pieces).toString("utf8")).input)
      answer.writeHead(200, { "content-type": "audio/pcm" })
      for (let count = wordsOf(text); count > 0; count--) answer.write(word)
      answer.end()
    })
  })
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    process.send?.(typeof address === "object" ? address?.port : 0)
  })
}

interface Heard {
  readonly seconds: number
  /** From the last word to the last sound. */
  readonly tail: number
}

const relay = async (port: number): Promise<Heard> => {
  const say = (input: string): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const asked = request({ port, host: "127.0.0.1", method: "POST", path: "/audio/speech" }, (answer) => {
        const pieces: Array<Buffer> = []
        answer.on("data", (piece: Buffer) => {
          JSON.stringify({ type: "tts_audio_chunk", data: piece.toString("base64") })
          pieces.push(piece)
        })
        answer.on("end", () => resolve(Buffer.concat(pieces)))
      })
      asked.on("error", reject)
      asked.end(JSON.stringify({ input }))
    })
  const begun = performance.now()
  let bytes = 0
  let next = say(sentences[0] ?? "")
  for (let index = 1; index <= sentences.length; index++) {
    const current = next
    if (index < sentences.length) next = say(sentences[index] ?? "")
    bytes += (await current).length
  }
  return { seconds: secondsOf(bytes), tail: performance.now() - begun }
}

const answer: ReadonlyArray<ChatEvent> = [
  ...sentences.map((text): ChatEvent => ({ _tag: "TextDelta", text })),
  { _tag: "Usage", usage: { ...noUsage, outputTokens: 400 } },
  { _tag: "Finished", reason: "stop", model: null, providerData: null }
]

const turn = Effect.gen(function* () {
  const { events } = yield* (yield* Turns).start({
    content: "Hi",
    stream: true,
    options: { voice: { tts: { provider: "openai", format: "pcm" } } }
  })
  const heard = { characters: 0, word: 0, sound: 0 }
  yield* Stream.runForEach(events, (event) =>
    Effect.sync(() => {
      if (event._tag === "TextDelta") heard.word = performance.now()
      if (event._tag !== "PartTold" || event.type !== "tts_audio_chunk") return
      const written = JSON.stringify(event.data)
      heard.characters += written.length
      heard.sound = performance.now()
    })
  )
  const result: Heard = { seconds: secondsOf((heard.characters * 3) / 4), tail: heard.sound - heard.word }
  return result
})

const kernelAt = (port: number) =>
  Voice.layer().pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide(
      Providers.layer({
        providers: [
          { id: "bench", chat: () => Stream.rechunk(Stream.fromIterable(answer), 1) },
          OpenAi.provider({ apiKey: "none", baseUrl: `http://127.0.0.1:${port}` })
        ],
        defaults: { provider: "bench", model: "m" }
      })
    ),
    Layer.provideMerge(InMemory.layer)
  )

/** The best of some rounds: what else runs on the machine only adds. */
const best = async (name: string, run: () => Promise<Heard>): Promise<void> => {
  await run()
  let cpu = Infinity
  let tail = Infinity
  for (let round = 0; round < 7; round++) {
    const before = process.cpuUsage()
    const heard = await run()
    const { system, user } = process.cpuUsage(before)
    cpu = Math.min(cpu, (system + user) / heard.seconds)
    tail = Math.min(tail, heard.tail)
  }
  console.log(
    `${name.padEnd(10)} ${cpu.toFixed(0).padStart(6)} µs of CPU a spoken second ${tail.toFixed(0).padStart(6)} ms after the last word`
  )
}

if (process.env["BENCH_SPEECH_VENDOR"] === "1") serveVendor()
else {
  const child = fork(fileURLToPath(import.meta.url), { env: { ...process.env, BENCH_SPEECH_VENDOR: "1" } })
  const port = await new Promise<number>((resolve) => child.once("message", (message) => resolve(Number(message))))
  await best("raw relay", () => relay(port))
  await Effect.runPromise(
    Effect.flatMap(Effect.context<Layer.Success<ReturnType<typeof kernelAt>> | Principal>(), (services) =>
      Effect.promise(() => best("colloquy", () => Effect.runPromiseWith(services)(turn)))
    ).pipe(Principal.provide("bench"), Effect.provide(kernelAt(port)))
  )
  child.kill()
}

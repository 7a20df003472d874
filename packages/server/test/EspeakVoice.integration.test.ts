/** Real speech: espeak-ng speaks an answer while it is written, and sox measures what was stored and what was sent live. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { sayInChunks, scripted } from "@colloquy/testing"
import { Kernel, Principal, type Provider, Providers, Turns } from "@colloquy/core"
import { DocumentId } from "@colloquy/core/adapters"
import { BlobStore, DocumentStore } from "@colloquy/core/documents"
import { KeptSpoken, Voice } from "@colloquy/core/voice"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { withPrograms } from "../../../test/programs.ts"
import { espeak } from "../src/EspeakVoice.ts"

const sentences = [
  "The quick brown fox jumps over the lazy dog.",
  "It has done so 3.5 times today.",
  "Nobody has told the dog, and nobody will."
]

/** The same voice as MPEG audio, one file per sentence, with tags. */
const inMp3: Provider = {
  id: "espeak-mp3",
  textToSpeech: {
    defaultModel: "espeak-ng",
    formats: ["mp3"],
    sampleRate: 22_050,
    maxCharacters: 4000,
    speak: ({ text }) =>
      Stream.fromEffect(
        Effect.sync(() => {
          const wav = execFileSync("espeak-ng", ["--stdin", "--stdout"], { input: text })
          return execFileSync("sox", ["-t", "wav", "-", "-t", "mp3", "-"], {
            input: wav,
            stdio: ["pipe", "pipe", "ignore"]
          })
        })
      )
  }
}

interface Measured {
  readonly seconds: number
  readonly loudness: number
}

/** The properties of a file according to sox, which writes them and its errors to its error output. */
const measure = (bytes: Uint8Array, type: string): Measured => {
  const folder = mkdtempSync(join(tmpdir(), "speech-"))
  const file = join(folder, `speech.${type}`)
  try {
    writeFileSync(file, bytes)
    const said = execFileSync("sh", ["-c", 'sox "$0" -n stat 2>&1', file], { encoding: "utf8" })
    const figure = (name: string) => Number(new RegExp(`${name}:\\s+([\\d.]+)`, "u").exec(said)?.[1])
    return { seconds: figure("Length \\(seconds\\)"), loudness: figure("RMS     amplitude") }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const alone = (text: string): number =>
  measure(execFileSync("espeak-ng", ["--stdin", "--stdout", "-v", "en", "-s", "175"], { input: text }), "wav").seconds

const newKernel = () =>
  Voice.layer().pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide(
      Providers.layer({
        providers: [scripted([sayInChunks(`${sentences.join(" ")}\n`, 7)]), espeak, inMp3],
        defaults: { provider: "scripted", model: "scripted-model" }
      })
    ),
    Layer.provideMerge(InMemory.layer),
    Layer.fresh
  )

const spoken = Effect.fnUntraced(function* (provider: string, format: string) {
  const turn = yield* (yield* Turns).start({
    content: "Tell.",
    stream: true,
    options: { voice: { tts: { provider, format } } }
  })
  const events = yield* Stream.runCollect(turn.events)
  const live = events.flatMap((event) =>
    event._tag === "PartTold" && event.type === "tts_audio_chunk"
      ? [Buffer.from(Object(event.data).data, "base64")]
      : []
  )
  const reply = yield* turn.reply
  const { tts } = Option.getOrThrow(Schema.decodeUnknownOption(KeptSpoken)(reply.supplements["voice"]))
  assert.isNull(tts.error)
  const [document] = yield* (yield* DocumentStore).getMany([DocumentId.make(tts.documentId ?? "")])
  if (document === undefined) throw new Error("Nothing was stored.")
  const stored = Buffer.concat(yield* Stream.runCollect((yield* BlobStore).get(document.blobId)))
  return { live: Buffer.concat(live), stored, extension: document.extension, seconds: tts.seconds ?? 0 }
})

withPrograms(["espeak-ng", "sox"], () => {
  for (const [title, provider, format, slack] of [
    ["WAV files become one WAV file", "espeak", "wav", 0.05],
    ["MPEG audio becomes one file of the right length", "espeak-mp3", "mp3", 0.4]
  ] as const) {
    it.live(`${title}, as long as its sentences, and loud`, () =>
      Effect.gen(function* () {
        const { extension, live, seconds, stored } = yield* spoken(provider, format)
        // The grouping of the sentences depends on the machine; each text begins and ends with some silence.
        const expected = sentences.map(alone).reduce((sum, length) => sum + length, 0)
        const file = measure(stored, extension)
        assert.strictEqual(extension, format)
        assert.closeTo(file.seconds, seconds, slack)
        assert.isAbove(file.seconds, expected * 0.75)
        assert.isBelow(file.seconds, expected * 1.25)
        assert.isAbove(file.loudness, 0.02)
        const heard = measure(live, extension)
        assert.closeTo(heard.seconds, file.seconds, 0.05)
        assert.closeTo(heard.loudness, file.loudness, 0.01)
      }).pipe(Principal.provide("ada"), Effect.provide(newKernel()))
    )
  }
})

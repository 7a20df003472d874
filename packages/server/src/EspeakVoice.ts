/** The program `espeak-ng` of this machine as a `TextToSpeech`. It returns WAV files, and the kernel joins those of all sentences. */
import type { Provider } from "@colloquy/core"
import { ModelError, type SpeechRequest } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { spawn } from "node:child_process"

const speak = ({ model, provider, speed, text, voice }: SpeechRequest) =>
  Stream.unwrap(
    Effect.gen(function* () {
      const options = ["--stdin", "--stdout", "-v", voice ?? "en", "-s", `${Math.round(175 * (speed ?? 1))}`]
      const start = Effect.sync(() => spawn("espeak-ng", options, { stdio: ["pipe", "pipe", "ignore"] }))
      const program = yield* Effect.acquireRelease(start, (running) => Effect.sync(() => running.kill()))
      const isWell = new Promise((resolve) => {
        program.once("error", () => resolve(false)).once("close", (code) => resolve(code === 0))
      })
      program.stdin.on("error", () => {}).end(text)
      const failed = new ModelError({ reason: "unknown", provider, model })
      const checked = Effect.flatMap(
        Effect.promise(() => isWell),
        (well) => (well ? Effect.void : Effect.fail(failed))
      )
      const sound = Stream.fromAsyncIterable<Uint8Array, ModelError>(program.stdout, () => failed)
      return Stream.concat(sound, Stream.fromEffectDrain(checked))
    })
  )

export const espeak: Provider = {
  id: "espeak",
  textToSpeech: { defaultModel: "espeak-ng", formats: ["wav"], sampleRate: 22_050, maxCharacters: 4000, speak }
}

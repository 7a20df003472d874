/**
 * A detector of turns with a small model that tells speech from other sounds: RNNoise in WebAssembly, with its model in the package. Clicks,
 * keyboards and steady noise begin no turn, however loud they are. `VoiceParts.model({ detector: bySpeech, … })`.
 */
import createRnnoise from "@jitsi/rnnoise-wasm/dist/rnnoise-sync.js"
import { makeDetector, loudness, pieceBytes, quietest, type SpeechJudge, type TurnDetector } from "./TurnDetector.ts"

const frameSamples = 480
const frameBytes = frameSamples * 4
const likely = 0.5

const rnnoise = createRnnoise()

/** The memory of one frame. The model reads it and writes the cleaned frame over it. */
const frame = rnnoise._malloc(frameBytes)

/** Frees the model's state, because a detector is not told the end of its session. */
const ended = new FinalizationRegistry<number>((state) => rnnoise._rnnoise_destroy(state))

const makeJudge = (threshold: number | null): SpeechJudge => {
  const state = rnnoise._rnnoise_create(0)
  let last = 0
  /** The probability of speech in 10 milliseconds, which is half a piece. Each sample at 24 kHz becomes two at 48 kHz. */
  const probability = (samples: DataView, from: number): number => {
    const heap = rnnoise.HEAPF32
    for (let index = 0; index < frameSamples; index += 2) {
      const sample = samples.getInt16(from + index, true)
      heap[frame / 4 + index] = (last + sample) / 2
      heap[frame / 4 + index + 1] = sample
      last = sample
    }
    return rnnoise._rnnoise_process_frame(state, frame, frame)
  }
  const judge: SpeechJudge = (piece) => {
    if (loudness(piece) < (threshold ?? quietest)) return false
    const samples = new DataView(piece.buffer, piece.byteOffset, piece.byteLength)
    return Math.max(probability(samples, 0), probability(samples, pieceBytes / 2)) >= likely
  }
  ended.register(judge, state)
  return judge
}

/** Finds where a turn of speech begins and ends, by a small model. Sound below the loudness `threshold` is never speech. */
export const bySpeech: TurnDetector = makeDetector(({ threshold }) => makeJudge(threshold))

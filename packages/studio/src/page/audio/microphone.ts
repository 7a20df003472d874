/**
 * Runs in the audio thread: converts the microphone's sound to the session's sample rate, as signed 16-bit samples in pieces of 40
 * milliseconds. `Voice` loads it as a worklet.
 */
const piecesASecond = 25

interface Options {
  readonly processorOptions: unknown
}

const readRate = (options: unknown): number =>
  typeof options === "object" && options !== null && "rate" in options && typeof options.rate === "number"
    ? options.rate
    : sampleRate

class Microphone extends AudioWorkletProcessor {
  private readonly step: number
  private readonly piece: Int16Array<ArrayBuffer>
  private filled = 0
  /** The position of the session's next sample between two samples of the microphone. */
  private position = 0
  private last = 0

  constructor({ processorOptions }: Options) {
    super()
    const rate = readRate(processorOptions)
    this.step = sampleRate / rate
    this.piece = new Int16Array(Math.round(rate / piecesASecond))
  }

  process([input]: ReadonlyArray<ReadonlyArray<Float32Array>>): boolean {
    const samples = input?.[0]
    if (samples === undefined) return true
    for (; this.position < samples.length; this.position += this.step) {
      const index = Math.floor(this.position)
      const before = index === 0 ? this.last : (samples[index - 1] ?? 0)
      const now = samples[index] ?? 0
      this.add(before + (now - before) * (this.position - index))
    }
    this.position -= samples.length
    this.last = samples.at(-1) ?? 0
    return true
  }

  private add(sample: number): void {
    this.piece[this.filled++] = Math.round(Math.max(-1, Math.min(1, sample)) * 0x7f_ff)
    if (this.filled < this.piece.length) return
    const { buffer } = this.piece.slice()
    this.port.postMessage(buffer, [buffer])
    this.filled = 0
  }
}

registerProcessor("microphone", Microphone)

/** Plays pieces of PCM one after the other without gaps, and stops at once when the answer is interrupted. */
export class Player {
  readonly meter: AnalyserNode
  private readonly context: AudioContext
  private readonly playing = new Set<AudioBufferSourceNode>()
  private end = 0

  constructor(context: AudioContext) {
    this.context = context
    this.meter = context.createAnalyser()
    this.meter.connect(context.destination)
  }

  /** `data` is base64 of signed 16-bit samples. */
  play(data: string, sampleRate: number): void {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))
    const samples = new Int16Array(bytes.buffer, 0, bytes.length >> 1)
    if (samples.length === 0) return
    const buffer = this.context.createBuffer(1, samples.length, sampleRate)
    buffer.getChannelData(0).set(Float32Array.from(samples, (sample) => sample / 0x80_00))
    const source = this.context.createBufferSource()
    source.buffer = buffer
    source.connect(this.meter)
    this.end = Math.max(this.end, this.context.currentTime + 0.02)
    source.start(this.end)
    this.end += buffer.duration
    this.playing.add(source)
    source.addEventListener("ended", () => this.playing.delete(source))
  }

  get isPlaying(): boolean {
    return this.playing.size > 0
  }

  silence(): void {
    for (const source of this.playing) source.stop()
    this.playing.clear()
    this.end = 0
  }
}

/** The current loudness, 0 to 1. */
export const loudness = (meter: AnalyserNode): number => {
  const samples = new Float32Array(meter.fftSize)
  meter.getFloatTimeDomainData(samples)
  return Math.min(1, 3 * Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length))
}

/** In the thread of sound: samples of the microphone as signed 16-bit pieces of 40 milliseconds. */
registerProcessor(
  "microphone",
  class extends AudioWorkletProcessor {
    piece = new Int16Array(Math.round(sampleRate / 25))
    filled = 0
    process([input]) {
      for (const sample of input[0] ?? []) {
        this.piece[this.filled++] = Math.round(Math.max(-1, Math.min(1, sample)) * 0x7fff)
        if (this.filled < this.piece.length) continue
        const { buffer } = this.piece.slice()
        this.port.postMessage(buffer, [buffer])
        this.filled = 0
      }
      return true
    }
  }
)

/** Samples as a WAV file: one channel, signed 16 bits. Pure. */
const headerSize = 44

export const encodeWav = (samples: Float32Array, sampleRate: number): ArrayBuffer => {
  const size = samples.length * 2
  const file = new DataView(new ArrayBuffer(headerSize + size))
  const text = (offset: number, word: string) => {
    for (let index = 0; index < word.length; index++) file.setUint8(offset + index, word.charCodeAt(index))
  }
  text(0, "RIFF")
  file.setUint32(4, headerSize - 8 + size, true)
  text(8, "WAVEfmt ")
  file.setUint32(16, 16, true)
  file.setUint16(20, 1, true)
  file.setUint16(22, 1, true)
  file.setUint32(24, sampleRate, true)
  file.setUint32(28, sampleRate * 2, true)
  file.setUint16(32, 2, true)
  file.setUint16(34, 16, true)
  text(36, "data")
  file.setUint32(40, size, true)
  samples.forEach((sample, index) => {
    file.setInt16(headerSize + index * 2, Math.round(Math.max(-1, Math.min(1, sample)) * 0x7f_ff), true)
  })
  return file.buffer
}

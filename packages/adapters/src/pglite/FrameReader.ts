/** Splits a stream of bytes into the messages of the PostgreSQL protocol: a type, a length and a body. */
export class FrameReader {
  private rest: Buffer = Buffer.alloc(0)
  private readonly onFrame: (type: number, body: Buffer) => void

  constructor(onFrame: (type: number, body: Buffer) => void) {
    this.onFrame = onFrame
  }

  read(bytes: Buffer): void {
    const all = this.rest.length === 0 ? bytes : Buffer.concat([this.rest, bytes])
    let start = 0
    while (all.length - start >= headerLength) {
      const end = start + 1 + all.readInt32BE(start + 1)
      if (end > all.length) break
      this.onFrame(all.readUInt8(start), all.subarray(start + headerLength, end))
      start = end
    }
    this.rest = all.subarray(start)
  }
}

const headerLength = 5

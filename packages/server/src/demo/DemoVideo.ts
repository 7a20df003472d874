/**
 * A video model that needs no network: it makes a real MP4 of two seconds whose colours depend on the prompt, for a first look before a
 * provider is configured. Its jobs exist only in this process; they are completed at the first status request and cost nothing.
 *
 * The pictures are H.264 without compression (every macroblock contains its samples), which every player reads and which needs no encoder.
 */
import { describeModel, ModelError, type VideoJob, type VideoModel } from "@colloquy/core/adapters"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

const demoVideoName = "demo/clip"

export const demoVideo = (): VideoModel => {
  const prompts = new Map<string, string>()
  const answer = (id: string, status: VideoJob["status"]): VideoJob => ({
    id,
    status,
    costUsd: 0,
    problem: null,
    retryAfterMillis: null
  })
  return {
    submit: ({ prompt }) =>
      Effect.sync(() => {
        const id = `demo-${crypto.randomUUID()}`
        prompts.set(id, prompt)
        return answer(id, "pending")
      }),
    status: (id) => Effect.sync(() => (prompts.has(id) ? Option.some(answer(id, "completed")) : Option.none())),
    content: (id, { model, provider }) =>
      Stream.unwrap(
        Effect.suspend(() => {
          const prompt = prompts.get(id)
          return prompt === undefined
            ? Effect.fail(new ModelError({ reason: "model_not_found", provider, model }))
            : Effect.succeed(Stream.make(drawVideo(prompt)))
        })
      ),
    listModels: Effect.succeed([
      describeModel({
        name: demoVideoName,
        provider: "demo",
        modelType: "video",
        displayName: "Demo clip (no network)",
        supportsVision: false,
        supportsAudioInput: false,
        supportsVideoInput: false,
        details: {
          supported_durations: [seconds],
          supported_resolutions: [],
          supported_aspect_ratios: [],
          supported_sizes: [`${width}x${height}`],
          supported_frame_images: [],
          generate_audio: false,
          seed: false,
          upscale_factor: null,
          creativity: null,
          pricing_skus: {}
        }
      })
    ])
  }
}

// Pictures.

const width = 128
const height = 80
const framesPerSecond = 8
const seconds = 2
const frameCount = framesPerSecond * seconds

const hashOf = (text: string): number => {
  let hash = 2166136261
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16777619)
  return hash >>> 0
}

/** Bits from the most significant on, as H.264 writes them. */
class Bits {
  readonly bytes: Array<number> = []
  private rest = 0
  private count = 0

  put(value: number, length: number): this {
    for (let at = length - 1; at >= 0; at--) {
      this.rest = (this.rest << 1) | ((value >> at) & 1)
      if (++this.count === 8) this.flush()
    }
    return this
  }

  /** Exponential Golomb code, unsigned. */
  ue(value: number): this {
    const length = Math.floor(Math.log2(value + 1))
    return this.put(0, length).put(value + 1, length + 1)
  }

  align(): this {
    while (this.count > 0) this.put(0, 1)
    return this
  }

  /** The stop bit, and zeros to the end of the byte. */
  end(): this {
    return this.put(1, 1).align()
  }

  private flush(): void {
    this.bytes.push(this.rest)
    this.rest = 0
    this.count = 0
  }
}

/** A unit of the stream: a byte is inserted so that two zeros are never followed by a small byte. */
const unit = (header: number, { bytes }: Bits): Uint8Array => {
  const out = [header]
  let zeros = 0
  for (const byte of bytes) {
    if (zeros >= 2 && byte <= 3) {
      out.push(3)
      zeros = 0
    }
    zeros = byte === 0 ? zeros + 1 : 0
    out.push(byte)
  }
  return Uint8Array.from(out)
}

/** Baseline profile, no reference pictures, whole frames. */
const sequenceSet = unit(
  0x67,
  new Bits()
    .put(66, 8)
    .put(0xc0, 8)
    .put(30, 8)
    .ue(0)
    .ue(0)
    .ue(2)
    .ue(0)
    .put(0, 1)
    .ue(width / 16 - 1)
    .ue(height / 16 - 1)
    .put(1, 1)
    .put(1, 1)
    .put(0, 2)
    .end()
)

const pictureSet = unit(
  0x68,
  new Bits().ue(0).ue(0).put(0, 2).ue(0).ue(0).ue(0).put(0, 3).ue(0).ue(0).ue(0).put(0, 3).end()
)

/** A ball that moves through a coloured field; both colours depend on the prompt. */
const frame = (number: number, seed: number): Uint8Array => {
  const bits = new Bits()
    .ue(0)
    .ue(7)
    .ue(0)
    .put(0, 4)
    .ue(number % 2)
    .put(0, 2)
    .ue(0)
  const turn = (2 * Math.PI * number) / frameCount
  const ball = { x: width / 2 + (width / 3) * Math.cos(turn), y: height / 2 + (height / 4) * Math.sin(turn) }
  const tint = (shift: number) => 60 + ((seed >>> shift) & 127)
  const isBall = (x: number, y: number) => (x - ball.x) ** 2 + (y - ball.y) ** 2 < 120
  const samples = (left: number, top: number, size: number, scale: number, of: (x: number, y: number) => number) => {
    for (let y = 0; y < size; y++) {
      for (let x = 0; x < size; x++) bits.put(of((left + x) * scale, (top + y) * scale), 8)
    }
  }
  for (let top = 0; top < height; top += 16) {
    for (let left = 0; left < width; left += 16) {
      bits.ue(25).align()
      samples(left, top, 16, 1, (x, y) => (isBall(x, y) ? 220 : 40 + Math.round((x + y) / 2)))
      samples(left / 2, top / 2, 8, 2, (x, y) => (isBall(x, y) ? 255 - tint(8) : tint(0)))
      samples(left / 2, top / 2, 8, 2, (x, y) => (isBall(x, y) ? 255 - tint(16) : tint(16)))
    }
  }
  return unit(0x65, bits.end())
}

// The file.

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

const u32 = (...values: ReadonlyArray<number>): Uint8Array => {
  const view = new DataView(new ArrayBuffer(values.length * 4))
  for (const [index, value] of values.entries()) view.setUint32(index * 4, value)
  return new Uint8Array(view.buffer)
}

const u16 = (...values: ReadonlyArray<number>): Uint8Array =>
  Uint8Array.from(values.flatMap((value) => [value >> 8, value & 255]))

const text = (value: string): Uint8Array => new TextEncoder().encode(value)

const box = (type: string, ...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const body = joined(parts)
  return joined([u32(body.length + 8), text(type), body])
}

/** Version and flags are always zero. */
const fullBox = (type: string, ...parts: ReadonlyArray<Uint8Array>): Uint8Array => box(type, u32(0), ...parts)

const matrix = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)

const sized = (bytes: Uint8Array): Uint8Array => joined([u16(bytes.length), bytes])

const sampleEntry = box(
  "avc1",
  u16(0, 0, 0, 1),
  u32(0, 0, 0, 0),
  u16(width, height),
  u32(0x480000, 0x480000, 0),
  u16(1),
  new Uint8Array(32),
  u16(24, 0xffff),
  box("avcC", Uint8Array.of(1, 66, 0xc0, 30, 0xff, 0xe1), sized(sequenceSet), Uint8Array.of(1), sized(pictureSet))
)

const movieOf = (sizes: ReadonlyArray<number>, offset: number): Uint8Array => {
  const duration = seconds * 1000
  const table = box(
    "stbl",
    fullBox("stsd", u32(1), sampleEntry),
    fullBox("stts", u32(1, sizes.length, duration / sizes.length)),
    fullBox("stsc", u32(1, 1, sizes.length, 1)),
    fullBox("stsz", u32(0, sizes.length, ...sizes)),
    fullBox("stco", u32(1, offset))
  )
  const data = box("dinf", fullBox("dref", u32(1), box("url ", u32(1))))
  const media = box(
    "mdia",
    fullBox("mdhd", u32(0, 0, 1000, duration), u16(0x55c4, 0)),
    fullBox("hdlr", u32(0), text("vide"), u32(0, 0, 0), text("Video\0")),
    box("minf", box("vmhd", u32(1), u16(0, 0, 0, 0)), data, table)
  )
  const track = box(
    "trak",
    box("tkhd", u32(3, 0, 0, 1, 0, duration, 0, 0), u16(0, 0, 0, 0), matrix, u32(width << 16, height << 16)),
    media
  )
  const header = fullBox(
    "mvhd",
    u32(0, 0, 1000, duration, 0x10000),
    u16(0x100, 0),
    u32(0, 0),
    matrix,
    u32(0, 0, 0, 0, 0, 0, 2)
  )
  return box("moov", header, track)
}

/** The same prompt gives the same bytes. */
export const drawVideo = (prompt: string): Uint8Array => {
  const seed = hashOf(prompt)
  const frames = Array.from({ length: frameCount }, (_, number) => {
    const bytes = frame(number, seed)
    return joined([u32(bytes.length), bytes])
  })
  const sizes = frames.map(({ length }) => length)
  const kind = box("ftyp", text("isom"), u32(512), text("isomavc1mp41"))
  const { length } = movieOf(sizes, 0)
  return joined([kind, movieOf(sizes, kind.length + length + 8), box("mdat", ...frames)])
}

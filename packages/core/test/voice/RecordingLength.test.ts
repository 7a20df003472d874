/** How long recordings last, by bytes written here; files of real programs are in the integration test beside this one. */
import { assert, describe, it } from "@effect/vitest"
import { joinBytes, wavHeader } from "../../src/primitives/Pcm.ts"
import { recordingSeconds } from "../../src/voice/RecordingLength.ts"

type Bytes = Uint8Array<ArrayBuffer>

const text = (word: string): Bytes => Uint8Array.from(word, (letter) => letter.charCodeAt(0))
const join = (...pieces: ReadonlyArray<Uint8Array | ReadonlyArray<number>>): Bytes =>
  joinBytes(pieces.map((piece) => Uint8Array.from(piece)))
const big = (value: number, length = 4): Bytes =>
  Uint8Array.from({ length }, (_, at) => Math.floor(value / 256 ** (length - 1 - at)) % 256)
const little = (value: number, length = 4): Bytes => big(value, length).toReversed()
const many = (count: number, piece: (at: number) => Uint8Array): Bytes =>
  joinBytes(Array.from({ length: count }, (_, at) => piece(at)))

const wav = (samples: number, tag = 1, bits = 16) =>
  join(
    text("RIFF"),
    little(0xffffffff),
    text("WAVEfmt "),
    little(16),
    little(tag, 2),
    little(1, 2),
    little(8000),
    little((8000 * bits) / 8),
    little(bits / 8, 2),
    little(bits, 2),
    text("data"),
    little(0xffffffff),
    new Uint8Array((samples * bits) / 8)
  )

/** A frame of MPEG 1, layer III, at 44,100 Hz; the rate's place in the table, and what stands behind its header. */
const frame = (rate = 9, inside: Uint8Array = new Uint8Array(), at = 4): Bytes => {
  const kilobits = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320][rate] ?? 0
  const bytes = new Uint8Array(Math.floor((144 * kilobits * 1000) / 44_100))
  bytes.set([0xff, 0xfb, rate << 4, 0])
  bytes.set(inside, at)
  return bytes
}
const id3 = (length: number) =>
  join(text("ID3"), [4, 0, 0, 0, 0, length >> 7, length & 127], new Uint8Array(length).fill(255))
const frameSeconds = 1152 / 44_100

const flac = (samples: number, rate = 16_000) =>
  join(
    text("fLaC"),
    [0x80, 0, 0, 34],
    new Uint8Array(10),
    [rate >> 12, (rate >> 4) & 255, (rate & 15) << 4, 0xf0 | Math.floor(samples / 2 ** 32)],
    big(samples % 2 ** 32),
    new Uint8Array(16_000)
  )

const page = (samples: number, body: Uint8Array) =>
  join(text("OggS"), [0, 0], little(samples, 8), new Uint8Array(12), [1, 255], body, new Uint8Array(200))
const opus = (samples: number) =>
  join(
    page(0, join(text("OpusHead"), [1, 1], little(312, 2), new Uint8Array(7))),
    page(48_000, text("x")),
    page(samples, text("y"))
  )
const vorbis = (samples: number, rate = 22_050) =>
  join(page(0, join([1], text("vorbis"), new Uint8Array(5), little(rate), new Uint8Array(9))), page(samples, text("y")))

const box = (name: string, ...inside: ReadonlyArray<Uint8Array>): Bytes => {
  const body = join(...inside)
  return join(big(body.length + 8), text(name), body)
}
const mvhd = (unit: number, length: number, version = 0) =>
  version === 1
    ? box("mvhd", big(version << 24), new Uint8Array(16), big(unit), big(length, 8), new Uint8Array(80))
    : box("mvhd", big(0), new Uint8Array(8), big(unit), big(length), new Uint8Array(80))
const ftyp = box("ftyp", text("M4A mp42"))
const mdat = box("mdat", new Uint8Array(500))
/** As browsers write it while they record: nothing in front says how long it will be. */
const fragmented = (...fragments: ReadonlyArray<Uint8Array>) =>
  join(
    ftyp,
    box(
      "moov",
      mvhd(1000, 0),
      box(
        "trak",
        box("tkhd", big(0), new Uint8Array(8), big(7)),
        box("mdia", box("mdhd", big(0), new Uint8Array(8), big(48_000), big(0)))
      ),
      box("mvex", box("trex", big(0), big(7), big(1), big(1024), big(0), big(0)))
    ),
    ...fragments.flatMap((traf) => [box("moof", box("mfhd", big(0), big(1)), traf), mdat])
  )

const element = (id: ReadonlyArray<number>, body: Uint8Array): Bytes => join(id, big(0x10000000 + body.length), body)
const open = (id: ReadonlyArray<number>): Bytes => join(id, [0x01, 255, 255, 255, 255, 255, 255, 255])
const block = (at: number, body = 40) => element([0xa3], join([0x81], big(at, 2), [0x80], new Uint8Array(body)))
/** As MediaRecorder writes it: segment and clusters have no length, and nothing tells that of the recording. */
const webm = (clusters: number, blocks: number, millis: number) =>
  join(
    element([0x1a, 0x45, 0xdf, 0xa3], join([0x42, 0x82, 0x84], text("webm"))),
    open([0x18, 0x53, 0x80, 0x67]),
    element([0x15, 0x49, 0xa9, 0x66], element([0x2a, 0xd7, 0xb1], big(1_000_000, 3))),
    element([0x16, 0x54, 0xae, 0x6b], new Uint8Array(60)),
    many(clusters, (cluster) =>
      join(
        open([0x1f, 0x43, 0xb6, 0x75]),
        element([0xe7], big(cluster * blocks * millis, 3)),
        many(blocks, (at) => block(at * millis))
      )
    )
  )

const adts = (length: number, rate = 8, blocks = 0) => {
  const bytes = new Uint8Array(length)
  bytes.set([
    0xff,
    0xf1,
    0x40 | (rate << 2),
    0x80 | (length >> 11),
    (length >> 3) & 255,
    ((length & 7) << 5) | 0x1f,
    0xfc | blocks
  ])
  return bytes
}

const recordings: ReadonlyArray<readonly [what: string, extension: string, bytes: Uint8Array, seconds: number]> = [
  ["WAV whose writer did not know its length", "wav", wav(12_000), 1.5],
  ["WAV with its length", "wav", join(wavHeader({ sampleRate: 8000, channels: 2 }, 32_000), new Uint8Array(40_000)), 1],
  ["WAV of 24 bits", "wav", wav(12_000, 1, 24), 1.5],
  ["WAV of floats", "wav", wav(12_000, 3, 32), 1.5],
  ["WAV of a telephone (mu-law)", "wav", wav(12_000, 7, 8), 1.5],
  ["MP3 of one rate", "mp3", many(100, () => frame()), 100 * frameSeconds],
  ["MP3 of many rates", "mp3", many(100, (at) => frame(1 + (at % 14))), 100 * frameSeconds],
  [
    "MP3 with Xing's note",
    "mp3",
    join(
      frame(9, text("Xing"), 36),
      many(50, () => frame())
    ),
    50 * frameSeconds
  ],
  [
    "MP3 with VBRI's note",
    "mp3",
    join(
      frame(9, text("VBRI"), 36),
      many(50, () => frame())
    ),
    50 * frameSeconds
  ],
  [
    "MP3 with a title in front and behind",
    "mp3",
    join(
      id3(3000),
      many(50, () => frame()),
      text("TAG"),
      new Uint8Array(125)
    ),
    50 * frameSeconds
  ],
  ["MP3 that ends within a frame", "mp3", many(50, () => frame()).subarray(0, -100), 49 * frameSeconds],
  ["AAC", "aac", many(100, () => adts(200)), 6.4],
  ["AAC with two blocks a frame, cut within one", "aac", many(100, () => adts(200, 8, 1)).subarray(0, -1), 12.672],
  ["FLAC", "flac", flac(40_000), 2.5],
  ["Ogg Opus", "ogg", opus(120_312), 2.5],
  ["Ogg Opus that ends within a page", "ogg", opus(120_312).subarray(0, -150), 2.5],
  ["Ogg Vorbis", "ogg", vorbis(55_125), 2.5],
  ["M4A with its head in front", "m4a", join(ftyp, box("moov", mvhd(1000, 2500)), mdat), 2.5],
  ["MP4 with its head behind, in version 1", "mp4", join(ftyp, mdat, box("moov", mvhd(48_000, 120_000, 1))), 2.5],
  [
    "MP4 as a browser records it",
    "mp4",
    fragmented(
      box("traf", box("tfhd", big(0x20000), big(7)), box("trun", big(0), big(47))),
      box("traf", box("tfhd", big(0x8), big(7), big(960)), box("trun", big(0), big(50))),
      box("traf", box("tfhd", big(0xb), big(7), big(0, 8), big(1), big(960)), box("trun", big(0), big(50))),
      box(
        "traf",
        box("tfhd", big(0), big(7)),
        box("trun", big(0x305), big(2), big(0), big(0), big(480), big(9), big(480), big(9))
      )
    ),
    (47 * 1024 + 100 * 960 + 960) / 48_000
  ],
  ["WebM as a browser records it", "webm", webm(3, 50, 20), 3]
]

describe("the length of a recording", () => {
  it.each(recordings)("%s", (_, extension, bytes, seconds) => {
    assert.approximately(recordingSeconds(bytes, extension) ?? Number.NaN, seconds, 1e-9)
  })

  it.each([
    ["an unknown kind", "mid", wav(8000)],
    ["nothing", "mp3", new Uint8Array()],
    ["MP3 that is none", "mp3", text("a text ".repeat(20_000))],
    ["MP3 whose title is longer than the file", "mp3", id3(5000).subarray(0, 100)],
    ["WAV of a rate of zero", "wav", wav(8000).fill(0, 24, 32)],
    ["FLAC that does not say", "flac", flac(0)],
    ["FLAC that says it lasts for years", "flac", flac(2 ** 36 - 1, 1)],
    ["Ogg of something else", "ogg", page(48_000, text("Speex   "))],
    ["Ogg without an end", "ogg", page(0, join(text("OpusHead"), new Uint8Array(11))).fill(255, 6, 14)],
    ["MP4 without a head", "mp4", join(ftyp, mdat)],
    ["MP4 with an empty head at its end", "mp4", join(ftyp, box("moov", box("mvhd")))],
    [
      "MP4 whose fragment claims billions of samples",
      "mp4",
      fragmented(box("traf", box("tfhd", big(0), big(7)), box("trun", big(0), big(0xffffffff))))
    ],
    [
      "MP4 whose fragment claims billions of samples with a length each",
      "mp4",
      fragmented(box("traf", box("tfhd", big(0), big(7)), box("trun", big(0x100), big(0xffffffff), big(0xffffffff))))
    ],
    ["MP4 of boxes without a size", "mp4", join(ftyp, big(1), text("moov"), big(0, 8))],
    ["WebM of one block", "webm", webm(1, 1, 20)],
    ["WebM that ends with a block that has no time", "webm", join(webm(1, 1, 20), element([0xa3], big(2 ** 56, 8)))],
    [
      "WebM whose unit is an age",
      "webm",
      join(element([0x2a, 0xd7, 0xb1], big(2 ** 52, 7)), webm(1, 2, 20).subarray(60))
    ]
  ])("is not told by %s", (_, extension, bytes) => {
    assert.isNull(recordingSeconds(bytes, extension))
  })

  /** A sequence of numbers that is always the same. */
  const numbers = (seed: number) => {
    let state = seed
    return (below: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return Math.floor((state / 2 ** 32) * below)
    }
  }

  it.each(recordings)("is a number or nothing when %s is cut or broken anywhere", (_, extension, bytes) => {
    const next = numbers(bytes.length)
    const check = (broken: Uint8Array) => {
      const seconds = recordingSeconds(broken, extension)
      assert.isTrue(seconds === null || (seconds >= 0 && seconds <= broken.length))
    }
    const head = Math.min(bytes.length, 600)
    for (let end = 0; end < head; end++) check(bytes.slice(0, end))
    for (let round = 0; round < 600; round++) {
      const broken = bytes.slice(0, 1 + next(bytes.length))
      for (let times = next(8); times >= 0; times--) {
        broken[next(round % 2 === 0 ? Math.min(broken.length, 200) : broken.length)] =
          [0, 1, 8, 127, 255, next(256)][next(6)] ?? 0
      }
      check(broken)
    }
  })

  it("of large files that are nothing but noise is looked for in one pass", () => {
    const next = numbers(1)
    const noise = Uint8Array.from({ length: 2_000_000 }, () => next(256))
    for (const start of [
      text("OggS"),
      text("fLaC"),
      [0x18, 0x53, 0x80, 0x67, 0x01],
      text("RIFF"),
      [0, 0, 0, 8],
      [0xff, 0xf1]
    ]) {
      for (const extension of ["wav", "mp3", "aac", "flac", "ogg", "mp4", "webm"]) {
        const seconds = recordingSeconds(join(start, noise), extension)
        assert.isTrue(seconds === null || seconds <= noise.length + 5)
      }
    }
    // Each byte could be the beginning of a box, an element or a page.
    for (const [extension, piece] of [
      ["mp4", box("moov")],
      ["mp4", box("moof", box("traf", box("tfhd")))],
      ["webm", [0xa0, 0x80]],
      ["ogg", text("OggS")],
      ["mp3", [0xff, 0xfb]],
      ["aac", [...adts(7)]]
    ] as const) {
      const bytes = many(200_000, () => Uint8Array.from(piece))
      const seconds = recordingSeconds(bytes, extension)
      assert.isTrue(seconds === null || seconds <= bytes.length)
    }
  }, 30_000)
})

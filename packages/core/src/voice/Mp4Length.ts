/**
 * Pure: the duration of an MP4 file. A complete file states it in `moov/mvhd`. A file that a browser wrote while recording does not; in
 * that case each of its fragments (`moof`) states the lengths of its samples. Used by `RecordingLength`.
 */
interface Box {
  readonly name: string
  readonly from: number
  readonly to: number
}

/** Null: the file does not state it. */
export const mp4Seconds = (bytes: Uint8Array): number | null => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const whole = { name: "", from: 0, to: bytes.length }
  const moov = childBoxes(view, whole, "moov")[0]
  if (moov === undefined) return null
  const [mvhd] = childBoxes(view, moov, "mvhd")
  return (mvhd === undefined ? null : toldLength(view, mvhd)) ?? fragmentsLength(view, whole, moov)
}

/** A box that ends after its parent is cut there; an invalid box ends the list. */
const childBoxes = (view: DataView, { from, to }: Box, ...names: ReadonlyArray<string>): ReadonlyArray<Box> => {
  const found: Array<Box> = []
  for (let at = from; at + 8 <= to;) {
    const short = view.getUint32(at)
    const isLong = short === 1 && at + 16 <= to
    const size = isLong ? Number(view.getBigUint64(at + 8)) : short === 0 ? to - at : short
    if (size < (isLong ? 16 : 8)) break
    const name = String.fromCharCode(...[4, 5, 6, 7].map((offset) => view.getUint8(at + offset)))
    if (names.includes(name)) found.push({ name, from: at + (isLong ? 16 : 8), to: Math.min(to, at + size) })
    at += size
  }
  return found
}

/** A number of four bytes; zero if the box is too short. */
const numberAt = (view: DataView, { from, to }: Box, offset: number): number =>
  from + offset + 4 <= to ? view.getUint32(from + offset) : 0

/** Version 1 of a box has times of eight bytes. */
const isVersion1 = (view: DataView, box: Box): boolean => numberAt(view, box, 0) >>> 24 === 1

const toldLength = (view: DataView, mvhd: Box): number | null => {
  const isLong = isVersion1(view, mvhd)
  const unit = numberAt(view, mvhd, isLong ? 20 : 12)
  const high = isLong ? numberAt(view, mvhd, 24) : 0
  const low = numberAt(view, mvhd, isLong ? 28 : 16)
  // All bits set: not known.
  const length = low === 0xffffffff ? 0 : high * 2 ** 32 + low
  return unit === 0 || length === 0 ? null : length / unit
}

interface Track {
  readonly unit: number
  readonly sampleLength: number
}

const fragmentsLength = (view: DataView, whole: Box, moov: Box): number | null => {
  const tracks = readTracks(view, moov)
  const lengths = new Map<number, number>()
  for (const moof of childBoxes(view, whole, "moof")) {
    for (const traf of childBoxes(view, moof, "traf")) {
      const [tfhd] = childBoxes(view, traf, "tfhd")
      const id = tfhd === undefined ? 0 : numberAt(view, tfhd, 4)
      const track = tracks.get(id)
      if (tfhd === undefined || track === undefined) continue
      const usual = usualLength(view, tfhd) ?? track.sampleLength
      const length = childBoxes(view, traf, "trun").reduce((sum, trun) => sum + runLength(view, trun, usual), 0)
      lengths.set(id, (lengths.get(id) ?? 0) + length)
    }
  }
  const seconds = [...lengths].map(([id, length]) => length / (tracks.get(id)?.unit ?? 1))
  return seconds.length === 0 ? null : seconds.reduce((a, b) => Math.max(a, b))
}

const readTracks = (view: DataView, moov: Box): ReadonlyMap<number, Track> => {
  const usual = new Map(
    childBoxes(view, moov, "mvex")
      .flatMap((mvex) => childBoxes(view, mvex, "trex"))
      .map((trex) => [numberAt(view, trex, 4), numberAt(view, trex, 12)])
  )
  const tracks = new Map<number, Track>()
  for (const trak of childBoxes(view, moov, "trak")) {
    const [tkhd] = childBoxes(view, trak, "tkhd")
    const [mdhd] = childBoxes(view, trak, "mdia").flatMap((mdia) => childBoxes(view, mdia, "mdhd"))
    if (tkhd === undefined || mdhd === undefined) continue
    const id = numberAt(view, tkhd, isVersion1(view, tkhd) ? 20 : 12)
    const unit = numberAt(view, mdhd, isVersion1(view, mdhd) ? 20 : 12)
    if (unit > 0) tracks.set(id, { unit, sampleLength: usual.get(id) ?? 0 })
  }
  return tracks
}

/** The flags say which numbers are present. */
const usualLength = (view: DataView, tfhd: Box): number | null => {
  const flags = numberAt(view, tfhd, 0)
  if ((flags & 0x8) === 0) return null
  return numberAt(view, tfhd, 8 + ((flags & 0x1) === 0 ? 0 : 8) + ((flags & 0x2) === 0 ? 0 : 4))
}

/** A box may claim billions of samples without data of their own; these are not read one by one. */
const runLength = (view: DataView, trun: Box, usual: number): number => {
  const flags = numberAt(view, trun, 0)
  const count = numberAt(view, trun, 4)
  if ((flags & 0x100) === 0) return count * usual
  const size = 4 * [0x100, 0x200, 0x400, 0x800].filter((flag) => (flags & flag) !== 0).length
  const first = 8 + ((flags & 0x1) === 0 ? 0 : 4) + ((flags & 0x4) === 0 ? 0 : 4)
  let length = 0
  for (let sample = 0; sample < count; sample++) {
    const offset = first + sample * size
    if (trun.from + offset + 4 > trun.to) break
    length += numberAt(view, trun, offset)
  }
  return length
}

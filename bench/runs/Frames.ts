/**
 * What one piece of audio (20 ms) costs a voice session, there and back, against a relay on the same library that only slices audio. At the
 * pace of speech, where each piece wakes the process, and as fast as it goes, where every session has always one piece on its way.
 */
import { WebSocket } from "ws"
import { inRounds, inTurns } from "../Figures.ts"
import { Process } from "../Processes.ts"
import type { Row } from "../Report.ts"

const piece = Buffer.alloc(960)
const asBase64 = (piece.byteLength * 4) / 3
const pieceMillis = 20
const answered = Buffer.from('"audio.delta"')

interface Caller {
  readonly socket: WebSocket
  onPieces: (count: number) => void
}

const call = (port: number): Promise<Caller> =>
  new Promise((resolve, reject) => {
    const headers = { "x-api-key": "bench-key" }
    const socket = new WebSocket(`ws://127.0.0.1:${port}/threads/realtime`, { headers, perMessageDeflate: false })
    const caller: Caller = { socket, onPieces: () => {} }
    socket.on("error", reject)
    socket.on("open", () => socket.send('{"provider":"bench","model":"voice"}'))
    socket.on("message", (data: Buffer) => {
      // Pieces of one tick may come back as one.
      if (data.subarray(0, 32).includes(answered)) caller.onPieces(Math.max(1, Math.floor(data.byteLength / asBase64)))
      else if (data.includes('"session.begin"')) resolve(caller)
    })
  })

const hangUp = async (callers: ReadonlyArray<Caller>): Promise<void> => {
  for (const { socket } of callers) {
    const closed = new Promise((resolve) => socket.on("close", resolve))
    socket.close()
    await closed
  }
}

/** Starts the callers; what it gives stops them. */
type Talk = (callers: ReadonlyArray<Caller>) => () => void

/** Microphones do not beat together. */
const atThePaceOfSpeech: Talk = (callers) => {
  const timers: Array<NodeJS.Timeout> = []
  for (const [index, { socket }] of callers.entries()) {
    const start = () => timers.push(setInterval(() => socket.send(piece), pieceMillis))
    timers.push(setTimeout(start, (index * pieceMillis) / callers.length))
  }
  return () => timers.forEach(clearInterval)
}

const asFastAsItGoes: Talk = (callers) => {
  let isOver = false
  for (const { socket } of callers) socket.send(piece)
  for (const caller of callers) {
    const heard = caller.onPieces
    caller.onPieces = (count) => {
      heard(count)
      if (!isOver) caller.socket.send(piece)
    }
  }
  return () => {
    isOver = true
  }
}

/** Microseconds of the side's CPU for each piece that came back. */
const costOf = async (side: Process, sessions: number, talk: Talk, seconds: number): Promise<number> => {
  const callers = await Promise.all(Array.from({ length: sessions }, () => call(side.port)))
  let pieces = 0
  for (const caller of callers) caller.onPieces = (count) => (pieces += count)
  const stop = talk(callers)
  await new Promise((resolve) => setTimeout(resolve, 200))
  const [before, counted] = [(await side.stats()).cpuMicros, pieces]
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  const [after, now] = [(await side.stats()).cpuMicros, pieces]
  stop()
  await hangUp(callers)
  return (after - before) / (now - counted)
}

export const frames = async (rounds: number, seconds: number): Promise<ReadonlyArray<Row>> => {
  const vendor = await Process.start("VoiceVendor", {})
  const env = { BENCH_VENDOR: `ws://127.0.0.1:${vendor.port}/realtime` }
  const sides = [await Process.start("VoiceSubject", env), await Process.start("VoiceRelay", env)]
  const rows: Array<Row> = []
  for (const [sessions, talk, what] of [
    [40, atThePaceOfSpeech, "at the pace of speech"],
    [16, asFastAsItGoes, "as fast as it goes"]
  ] as const) {
    for (const side of sides) await costOf(side, sessions, talk, seconds)
    const found: Array<Array<number>> = sides.map(() => [])
    for (let round = 0; round < rounds; round++) {
      for (const [index, side] of inTurns(sides, round)) found[index]?.push(await costOf(side, sessions, talk, seconds))
    }
    const [ours = [], raw = []] = found
    rows.push({
      store: "in-memory",
      what: `a piece of audio there and back, ${sessions} sessions, ${what}`,
      unit: "CPU µs",
      ...inRounds(ours, raw),
      target: null
    })
  }
  for (const each of [...sides, vendor]) await each.stop()
  return rows
}

/**
 * Voice sessions with 20 ms of audio both ways, against a relay on the same library that does nothing else: CPU, memory and added latency a
 * session. Sides are warmed up, then take turns, and the median of the rounds counts.
 */
import { WebSocket } from "ws"
import { median } from "../Load.ts"
import { Process } from "../Processes.ts"
import type { Row } from "../Report.ts"

const piece = Buffer.alloc(960)
const pieceMillis = 20
const base64Length = (piece.byteLength * 4) / 3
const audioType = Buffer.from('"audio.delta"')

interface Heard {
  readonly cpuPercent: number
  readonly latency99: number
  readonly answered: number
}

export const voice = async (sessions: number, rounds: number, seconds: number): Promise<ReadonlyArray<Row>> => {
  const vendor = await Process.start("VoiceVendor", {})
  const env = { BENCH_VENDOR: `ws://127.0.0.1:${vendor.port}/realtime` }
  const sides = [await Process.start("VoiceSubject", env), await Process.start("VoiceRelay", env)]
  const found: Array<Array<Heard>> = sides.map(() => [])
  const kilobytes: Array<number> = []
  for (const side of sides) kilobytes.push(await memoryPerSession(side, sessions))
  for (const side of sides) await talk(side, sessions, seconds)
  for (let round = 0; round < rounds; round++) {
    const turns = [...sides.entries()]
    for (const [index, side] of round % 2 === 0 ? turns : turns.toReversed()) {
      found[index]?.push(await talk(side, sessions, seconds))
    }
  }
  const slow = sides[0] === undefined ? [] : await besideSlowClient(sides[0], rounds, seconds)
  for (const each of [...sides, vendor]) await each.stop()
  const of = (index: number, field: keyof Heard) => median((found[index] ?? []).map((heard) => heard[field]))
  const row = (what: string, unit: string, kernel: number, baseline: number | null, target: Row["target"]): Row => ({
    store: "in-memory",
    what: `${what}, ${sessions} voice sessions`,
    unit,
    kernel,
    baseline,
    target
  })
  return [
    row("CPU", "% of a core a session", of(0, "cpuPercent"), of(1, "cpuPercent"), {
      of: "ratio",
      sense: "at most",
      bound: 1.25
    }),
    row("sessions a core by CPU", "sessions", 100 / of(0, "cpuPercent"), 100 / of(1, "cpuPercent"), {
      of: "value",
      sense: "at least",
      bound: 200
    }),
    row("latency of a piece, p99", "ms", of(0, "latency99"), of(1, "latency99"), null),
    row("latency added, p99", "ms", Math.max(0, of(0, "latency99") - of(1, "latency99")), null, {
      of: "value",
      sense: "at most",
      bound: 20
    }),
    row("pieces answered", "%", of(0, "answered"), of(1, "answered"), { of: "value", sense: "at least", bound: 99 }),
    row("memory", "kB a session", kilobytes[0] ?? 0, kilobytes[1] ?? 0, null),
    ...slow
  ]
}

const goodClients = 100

/** One client asks for sound without end and reads none of it; a hundred others talk meanwhile. They are compared with themselves alone. */
const besideSlowClient = async (side: Process, rounds: number, seconds: number): Promise<ReadonlyArray<Row>> => {
  const alone: Array<Heard> = []
  const beside: Array<Heard> = []
  const megabytes: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    alone.push(await talk(side, goodClients, seconds))
    await side.collect()
    const before = (await side.stats()).kept
    const [slow] = await open(side, 1)
    slow?.send('{"type":"provider.event","event":{"type":"response.create"}}')
    slow?.pause()
    await new Promise((resolve) => setTimeout(resolve, 500))
    await side.collect()
    megabytes.push(((await side.stats()).kept - before) / 1_000_000)
    beside.push(await talk(side, goodClients, seconds))
    slow?.terminate()
  }
  const of = (heard: ReadonlyArray<Heard>, field: keyof Heard) => median(heard.map((each) => each[field]))
  const row = (what: string, unit: string, kernel: number, baseline: number | null, target: Row["target"]): Row => ({
    store: "in-memory",
    what: `${what}, ${goodClients} voice sessions beside one that does not read (baseline: alone)`,
    unit,
    kernel,
    baseline,
    target
  })
  return [
    row("latency of a piece, p99", "ms", of(beside, "latency99"), of(alone, "latency99"), null),
    row("pieces answered", "%", of(beside, "answered"), of(alone, "answered"), {
      of: "value",
      sense: "at least",
      bound: 99
    }),
    row("CPU", "% of a core a session", of(beside, "cpuPercent"), of(alone, "cpuPercent"), {
      of: "ratio",
      sense: "at most",
      bound: 1.25
    }),
    row("memory that the slow one takes", "MB", median(megabytes), null, { of: "value", sense: "at most", bound: 32 })
  ]
}

const open = (side: Process, sessions: number): Promise<ReadonlyArray<WebSocket>> =>
  Promise.all(
    Array.from(
      { length: sessions },
      () =>
        new Promise<WebSocket>((resolve, reject) => {
          const socket = new WebSocket(`ws://127.0.0.1:${side.port}/threads/realtime`, {
            headers: { "x-api-key": "bench-key" },
            perMessageDeflate: false
          })
          socket.on("error", reject)
          socket.on("open", () => socket.send('{"provider":"bench","model":"voice"}'))
          socket.on("message", (data: Buffer) => {
            if (data.includes('"session.begin"')) resolve(socket)
          })
        })
    )
  )

const close = (sockets: ReadonlyArray<WebSocket>): Promise<unknown> =>
  Promise.all(
    sockets.map(
      (socket) =>
        new Promise((resolve) => {
          socket.on("close", resolve)
          socket.close()
        })
    )
  )

const memoryPerSession = async (side: Process, sessions: number): Promise<number> => {
  await close(await open(side, sessions))
  await side.collect()
  const before = (await side.stats()).rss
  const sockets = await open(side, sessions)
  await side.collect()
  const after = (await side.stats()).rss
  await close(sockets)
  return Math.max(0, after - before) / 1000 / sessions
}

const talk = async (side: Process, sessions: number, seconds: number): Promise<Heard> => {
  const sockets = await open(side, sessions)
  const latencies: Array<number> = []
  let sent = 0
  const timers = sockets.map((socket, index) => {
    const waiting: Array<number> = []
    socket.on("message", (data: Buffer) => {
      if (!data.subarray(0, 32).includes(audioType)) return
      // Pieces of one tick may come back as one.
      const pieces = Math.max(1, Math.floor(data.byteLength / base64Length))
      for (const at of waiting.splice(0, pieces)) latencies.push(performance.now() - at)
    })
    const say = () => {
      sent++
      waiting.push(performance.now())
      socket.send(piece)
    }
    let timer: NodeJS.Timeout | undefined
    // Microphones do not beat together.
    const start = setTimeout(
      () => {
        timer = setInterval(say, pieceMillis)
      },
      (index * pieceMillis) / sessions
    )
    return () => {
      clearTimeout(start)
      clearInterval(timer)
    }
  })
  const before = await side.stats()
  const from = performance.now()
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  const after = await side.stats()
  const millis = performance.now() - from
  for (const stop of timers) stop()
  await new Promise((resolve) => setTimeout(resolve, 200))
  await close(sockets)
  latencies.sort((a, b) => a - b)
  return {
    cpuPercent: ((after.cpuMicros - before.cpuMicros) / 1000 / millis / sessions) * 100,
    latency99: latencies[Math.floor(latencies.length * 0.99)] ?? 0,
    answered: (latencies.length / sent) * 100
  }
}

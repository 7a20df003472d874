/** The client of the benchmark: requests over kept-alive connections, and what they took. */
import { Agent, request } from "node:http"

export interface Target {
  readonly port: number
  readonly headers: { readonly [name: string]: string }
}

const agent = new Agent({ keepAlive: true, maxSockets: 2000 })

/** Sends a request and reads the answer to its end. `onText` gets the pieces of the body as they come. */
export const send = (
  target: Target,
  method: "GET" | "POST",
  path: string,
  body: object | null,
  onText: (text: string) => void = () => {}
): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { ...target.headers, ...(body === null ? {} : { "content-type": "application/json" }) }
    const sent = request({ agent, host: "127.0.0.1", port: target.port, method, path, headers }, (response) => {
      response.setEncoding("utf8")
      response.on("data", onText)
      response.on("end", () => resolve(response.statusCode ?? 0))
      response.on("error", reject)
    })
    sent.on("error", reject)
    sent.end(body === null ? undefined : JSON.stringify(body))
  })

export const sendJson = async (
  target: Target,
  method: "GET" | "POST",
  path: string,
  body: object | null
): Promise<unknown> => {
  let text = ""
  const status = await send(target, method, path, body, (piece) => {
    text += piece
  })
  if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 500)}`)
  return JSON.parse(text)
}

/** Keeps so many workers busy for a number of milliseconds; gives how much work was done, and how long it took. */
export const hammer = async (
  concurrency: number,
  millis: number,
  work: (worker: number) => Promise<unknown>
): Promise<{ readonly count: number; readonly seconds: number }> => {
  const start = performance.now()
  let count = 0
  const worker = async (index: number) => {
    while (performance.now() - start < millis) {
      await work(index)
      count++
    }
  }
  await Promise.all(Array.from({ length: concurrency }, (_, index) => worker(index)))
  return { count, seconds: (performance.now() - start) / 1000 }
}

/** The same for a number of pieces of work. */
export const hammerTimes = async (
  concurrency: number,
  times: number,
  work: (worker: number) => Promise<unknown>
): Promise<{ readonly count: number; readonly seconds: number }> => {
  const start = performance.now()
  let left = times
  const worker = async (index: number) => {
    while (left-- > 0) await work(index)
  }
  await Promise.all(Array.from({ length: concurrency }, (_, index) => worker(index)))
  return { count: times, seconds: (performance.now() - start) / 1000 }
}

export const closeConnections = (): void => agent.destroy()

/** Of an even number it is between the two in the middle: the upper one would flatter rates. */
export const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length / 2
  const [below = Number.NaN, above = Number.NaN] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]]
  return (below + above) / 2
}

export const percentile = (values: ReadonlyArray<number>, part: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN

/**
 * A server that speaks the router's wire for videos (orders, jobs, clips, catalogue), over real HTTP on this machine. What it answers is
 * set while it runs; every request is noted. It also is the conversation's provider, where a test wants a whole service.
 */
import type { VideoScene } from "@colloquy/testing/contracts"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly body: unknown
}

export interface VideoServer {
  readonly baseUrl: string
  readonly seen: ReadonlyArray<SeenRequest>
  readonly play: (scene: VideoScene) => void
  /** Sets how jobs look from now on, one after the other; the last one stays. Given whole, as bodies of the wire. */
  readonly jobs: (...bodies: ReadonlyArray<object>) => void
  readonly clip: Uint8Array
  /** What it sends instead of the clip. */
  readonly sends: (type: string, pieces: () => Iterable<Uint8Array>) => void
  readonly models: Array<object>
  /** The same models in the list of all models, where their inputs stand. */
  readonly inputs: Map<string, ReadonlyArray<string>>
}

const job = "gen-vid-1"

/** Of more than one network packet. */
const clip = new Uint8Array(300_000).fill(7)
clip.set(new TextEncoder().encode("\0\0\0\u0018ftypisom\0\0\u0002\0isommp41"))

export const make: Effect.Effect<VideoServer, never, Scope.Scope> = Effect.gen(function* () {
  const seen: Array<SeenRequest> = []
  const models: Array<object> = []
  const inputs = new Map<string, ReadonlyArray<string>>()
  let scene: VideoScene = {}
  let bodies: ReadonlyArray<object> = []
  let sending: { readonly type: string; readonly pieces: () => Iterable<Uint8Array> } | null = null

  const jobBody = () => {
    const [first, ...rest] = bodies
    if (first !== undefined) {
      if (rest.length > 0) bodies = rest
      return first
    }
    const status = scene.look === "strange" ? "warming_up" : (scene.look ?? "pending")
    return {
      id: job,
      generation_id: "gen-9",
      model: "acme/vid-1",
      status,
      polling_url: `/api/v1/videos/${job}`,
      ...(scene.cost === undefined ? {} : { usage: { cost: scene.cost, is_byok: false } }),
      ...(status === "failed" ? { error: "The prompt is not allowed" } : {})
    }
  }

  const json = (response: Http.ServerResponse, status: number, body: unknown, headers = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers })
    response.end(JSON.stringify(body))
  }
  const wrong = (response: Http.ServerResponse, status: number, headers = {}) =>
    json(response, status, { error: { code: status, message: "What the vendor says, sk-secret" } }, headers)

  const order = (response: Http.ServerResponse): void => {
    switch (scene.order ?? "taken") {
      case "taken":
        return json(response, 202, { id: job, polling_url: `/api/v1/videos/${job}`, status: "pending" })
      case "refused":
        return wrong(response, 402)
      case "fault":
        return wrong(response, 500)
      case "broken":
        return void response.socket?.destroy()
    }
  }

  const look = (response: Http.ServerResponse): void => {
    switch (scene.look) {
      case "missing":
        return wrong(response, 404)
      case "busy":
        return wrong(response, 429, { "retry-after": "7" })
      case "fault":
        return wrong(response, 503)
      default:
        return json(response, 200, jobBody())
    }
  }

  const content = async (response: Http.ServerResponse): Promise<void> => {
    switch (scene.clip ?? "whole") {
      case "not_ready":
        return wrong(response, 409)
      case "redirect":
        response.writeHead(302, { location: `http://${response.req.headers.host}/elsewhere` })
        return void response.end()
      default: {
        const { pieces, type } = sending ?? { type: "video/mp4", pieces: () => [clip] }
        response.writeHead(200, { "content-type": type })
        if (scene.clip === "broken") {
          response.write(clip.subarray(0, 1000), () => response.socket?.destroy())
          return
        }
        for (const piece of pieces()) {
          if (response.destroyed) return
          await new Promise<void>((resolve) => {
            const gone = () => resolve()
            response.once("close", gone)
            response.write(piece, () => {
              response.off("close", gone)
              resolve()
            })
          })
        }
        response.end()
      }
    }
  }

  const answer = (path: string, method: string | undefined, response: Http.ServerResponse): void => {
    if (path === "/videos" && method === "POST") return order(response)
    if (path === "/videos/models") return json(response, 200, { data: models })
    if (path === `/videos/${job}`) return look(response)
    if (path.startsWith(`/videos/${job}/content`)) return void content(response)
    if (path.startsWith("/models")) {
      const data = [...inputs].map(([id, input_modalities]) => ({
        id,
        architecture: { input_modalities, output_modalities: ["video"] }
      }))
      return json(response, 200, { data })
    }
    wrong(response, 404)
  }

  const server = Http.createServer((request, response) => {
    const pieces: Array<Buffer> = []
    request.on("data", (piece: Buffer) => pieces.push(piece))
    request.on("end", () => {
      const text = Buffer.concat(pieces).toString()
      const { headers, method, url = "" } = request
      const body: unknown = text === "" ? null : JSON.parse(text)
      seen.push({ method: method ?? "", path: url, authorization: headers.authorization, body })
      answer(url, method, response)
    })
  })
  const baseUrl = yield* Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed(`http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`))
      })
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  return {
    baseUrl,
    seen,
    clip,
    models,
    inputs,
    play: (next) => {
      scene = next
      bodies = []
    },
    jobs: (...next) => {
      bodies = next
    },
    sends: (type, pieces) => {
      sending = { type, pieces }
    }
  }
})

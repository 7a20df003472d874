// The realtime socket on a real server: handshakes, sessions, sizes, hostile clients, neighbours on the same server, shutdown.
import { ScriptedRealtime } from "@colloquy/testing"
import type { HostCredentials } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import { createHash } from "node:crypto"
import { request } from "node:http"
import { connect } from "node:net"
import { WebSocket, WebSocketServer } from "ws"
import type { UpgradeOptions } from "../src/index.ts"
import { RealtimeClient, type RealtimeEvent } from "../src/client/RealtimeClient.ts"
import { firstFrame, rawClient, type RunningService, startService } from "./Service.ts"
import { until } from "../../../test/until.ts"

const { callTool, hang, hear, say } = ScriptedRealtime

const withService = async (
  script: Parameters<typeof startService>[0],
  use: (service: RunningService) => Promise<void>,
  options: Parameters<typeof startService>[1] = {},
  others?: Parameters<typeof startService>[2]
) => {
  const service = await startService(script, options, others)
  try {
    await use(service)
  } finally {
    await service.close()
  }
}

/** The status of an upgrade that is answered over HTTP. */
const refusedStatus = (url: string, headers: { readonly [name: string]: string } = {}): Promise<number> =>
  new Promise((resolve) => {
    const socket = new WebSocket(url, { headers })
    socket.on("unexpected-response", (_, response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    socket.on("error", () => {})
    socket.on("open", () => {
      socket.terminate()
      resolve(101)
    })
  })

/** A text frame as a client sends it. */
const masked = (frame: object): Buffer => {
  const payload = Buffer.from(JSON.stringify(frame))
  assert.isBelow(payload.length, 126)
  const mask = Buffer.from([1, 2, 3, 4])
  const hidden = Buffer.from(payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0)))
  return Buffer.concat([Buffer.from([0x81, 0x80 | payload.length]), mask, hidden])
}

/** Handshake and bytes in one write, over a plain connection; what comes back until this word is in it. */
const sendBytes = async ({ key, url }: RunningService, bytes: Buffer, word: string) => {
  const { hostname, port, pathname } = new URL(url)
  const head = [
    `GET ${pathname} HTTP/1.1`,
    `Host: ${hostname}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    `X-API-Key: ${key}`
  ]
  const socket = connect(Number(port), hostname)
  socket.write(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), bytes]))
  const heard = await new Promise<string>((resolve) => {
    let text = ""
    socket.on("data", (data) => {
      text += data.toString("latin1")
      if (text.includes(word)) resolve(text)
    })
  })
  return { heard, socket }
}

const tone = Buffer.from(Array.from({ length: 9600 }, (_, index) => (index * 7919) % 256))

describe("a session over the socket", () => {
  it("goes from ticket to session.ended with the client for browsers, byte by byte", () =>
    withService(
      [[hear("Hello?"), say("Hello.", { audio: tone }), callTool("get_time", {}, "c1"), say("Ten.")]],
      async (service) => {
        const events: Array<RealtimeEvent> = []
        const microphone = Buffer.from(tone.toReversed())
        const closed: Array<number> = []
        const client = new RealtimeClient({
          url: service.url,
          ticket: await service.ticket(),
          first: { ...firstFrame, tools: [{ type: "function", function: { name: "get_time" } }] },
          onEvent: (event) => {
            events.push(event)
            if (event.type === "session.begin") client.sendAudio(new Uint8Array(microphone))
            if (event.type === "tool.call") {
              client.sendToolOutputs([{ tool_call_id: event.tool_call_id, name: event.name, output: { time: 10 } }])
            }
            if (event.type === "transcript.final" && event.text === "Ten.") void client.stop()
          },
          onClose: (code) => closed.push(code)
        })
        await until(() => closed.length > 0)
        assert.deepStrictEqual(closed, [1000])
        const audio = events.flatMap((event) => (event.type === "audio.delta" ? [event] : []))
        const hello = audio.filter(({ item_id }) => item_id === audio[0]?.item_id)
        assert.deepStrictEqual(Buffer.concat(hello.map(({ data }) => Buffer.from(data, "base64"))), tone)
        assert.deepInclude(audio[0], { encoding: "pcm_s16le", sample_rate: 24_000, channels: 1 })
        assert.deepStrictEqual(Buffer.from(service.voice.heard()), microphone)
        assert.deepInclude(events[0], {
          type: "session.begin",
          input_format: { encoding: "pcm_s16le", sample_rate: 24_000, channels: 1 }
        })
        const last = events.at(-1)
        assert.strictEqual(last?.type, "session.ended")
        assert.deepInclude(last, { reconciliation_required: false })
      }
    ))

  it("takes a first frame that is glued to the handshake", () =>
    withService([[hang]], async (service) => {
      const { heard, socket } = await sendBytes(service, masked(firstFrame), "session.begin")
      const accept = createHash("sha1")
        .update("dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
        .digest("base64")
      assert.include(heard, accept)
      socket.destroy()
    }))

  it("is told session.ended and 1001 at shutdown", () =>
    withService([[hang]], async (service) => {
      const client = rawClient(service.url, { key: service.key })
      await client.heard("session.begin")
      await service.drain()
      assert.strictEqual(await client.closed, 1001)
      assert.strictEqual(client.events.at(-1)?.["type"], "session.ended")
    }))
})

describe("handshakes", () => {
  it("a key in the query is refused with 400, a foreign Origin with 403, whatever else is sent", () =>
    withService(
      [],
      async ({ key, url }) => {
        for (const name of ["api_key", "key", "x-api-key", "access_token", "apiKey", "API_KEY", "X-API-Key"]) {
          assert.strictEqual(await refusedStatus(`${url}?${name}=${key}`, { "x-api-key": key }), 400)
        }
        assert.strictEqual(await refusedStatus(url, { "x-api-key": key, origin: "https://evil.example" }), 403)
        assert.strictEqual(await refusedStatus(url, { "x-api-key": key, origin: "https://app.example" }), 101)
      },
      { origins: ["https://app.example"] }
    ))

  it("a missing or wrong key and a used ticket are told after the handshake, and closed with 1008", () =>
    withService([[hang]], async (service) => {
      for (const key of ["", "cq_wrong"]) {
        const client = rawClient(service.url, { key })
        assert.strictEqual((await client.heard("error"))["code"], "unauthorized")
        assert.strictEqual(await client.closed, 1008)
      }
      const ticket = await service.ticket("https://app.example")
      const address = `${service.url}?ticket=${ticket}`
      const good = rawClient(address, { headers: { origin: "https://app.example" } })
      await good.heard("session.begin")
      const again = rawClient(address, { headers: { origin: "https://app.example" } })
      assert.strictEqual((await again.heard("error"))["code"], "ticket_invalid")
      const foreign = rawClient(`${service.url}?ticket=${await service.ticket("https://app.example")}`)
      assert.strictEqual((await foreign.heard("error"))["code"], "origin_mismatch")
    }))

  it("knows callers as the HTTP API does: the host's session first, then the key, and wrong keys by address", () =>
    withService(
      [[hang], [hang]],
      async ({ key, url }) => {
        const bySession = rawClient(url, { headers: { cookie: "session=ada" } })
        await bySession.heard("session.begin")
        const byKey = rawClient(url, { key, headers: { cookie: "session=nobody" } })
        await byKey.heard("session.begin")
        const messages: Array<unknown> = []
        for (let attempt = 0; attempt < 3; attempt++) {
          const wrong = rawClient(url, { key: `cq_wrong_${attempt}` })
          const error = await wrong.heard("error")
          assert.strictEqual(error["code"], "unauthorized")
          assert.strictEqual(await wrong.closed, 1008)
          messages.push(error["message"])
        }
        assert.notStrictEqual(messages[0], messages[2])
        assert.match(String(messages[2]), /^Too many/)
      },
      {
        authenticate: ({ source }) => (source.headers.cookie === "session=ada" ? "ada" : null),
        clientAddress: ({ source }) => source.socket.remoteAddress,
        failedKeys: { limit: 2, window: "1 minute" }
      }
    ))

  it("the page of another site is refused a session of the host with 403, unless the origin is one of `origins`", async () => {
    const cookie = "session=ada"
    const authenticate = ({ headers }: HostCredentials) => (headers["cookie"] === cookie ? "ada" : null)
    await withService(
      [],
      async ({ key, ticket, url }) => {
        const { host } = new URL(url)
        const evil = { origin: "https://evil.example" }
        assert.strictEqual(await refusedStatus(url, { cookie, ...evil }), 403)
        assert.strictEqual(await refusedStatus(url, { cookie, "sec-fetch-site": "cross-site" }), 403)
        assert.strictEqual(await refusedStatus(url, { cookie, origin: "null" }), 403)
        assert.strictEqual(await refusedStatus(url, { cookie, origin: `http://${host}` }), 101)
        const proxied = { cookie, origin: "https://app.example", "x-forwarded-host": "app.example" }
        assert.strictEqual(await refusedStatus(url, proxied), 101)
        assert.strictEqual(await refusedStatus(url, { cookie }), 101)
        assert.strictEqual(await refusedStatus(url, { "x-api-key": key, ...evil }), 101)
        assert.strictEqual(await refusedStatus(`${url}?ticket=${await ticket()}`, evil), 101)
      },
      { authenticate }
    )
    await withService(
      [],
      async ({ url }) => {
        assert.strictEqual(await refusedStatus(url, { cookie, origin: "https://friend.example" }), 101)
      },
      { authenticate, origins: ["https://friend.example"] }
    )
  })

  it("a thousand silent connections of one key leave the places of other owners free", () =>
    withService(
      [[hang]],
      async (service) => {
        const silent: Array<ReturnType<typeof rawClient>> = []
        const refused: Array<unknown> = []
        while (silent.length < 1000) {
          const some = Array.from({ length: 50 }, () => rawClient(service.url, { key: service.key, first: null }))
          silent.push(...some)
          await Promise.all(some.map(({ socket }) => new Promise((resolve) => socket.on("open", resolve))))
        }
        for (const client of silent.slice(100)) refused.push((await client.heard("error"))["code"])
        assert.lengthOf(refused, 900)
        assert.deepStrictEqual([...new Set(refused)], ["too_many_waiting"])
        assert.isEmpty(silent.slice(0, 100).flatMap(({ events }) => events))
        const other = rawClient(service.url, { headers: { cookie: "session=ada" } })
        await other.heard("session.begin")
        silent[0]?.socket.send(JSON.stringify(firstFrame))
        await silent[0]?.heard("error")
        for (const { socket } of silent) socket.terminate()
      },
      { authenticate: ({ source }) => (source.headers.cookie === "session=ada" ? "ada" : null) }
    ))

  const never = { authenticate: () => new Promise<string>(() => {}) }
  const address: UpgradeOptions["clientAddress"] = ({ headers }) => headers["x-client"]
  const open = (url: string, client: string, whenClosed: () => void = () => {}) =>
    new Promise<number>((resolve) => {
      const socket = new WebSocket(url, { headers: { "x-client": client } })
      socket.on("open", () => resolve(101))
      socket.on("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0))
      socket.on("error", () => {})
      socket.on("close", whenClosed)
    })

  it("silent connections of an address that have waited long enough make room for others of it", () =>
    withService(
      [],
      async ({ server, url }) => {
        let isClosed = () => {}
        const closed = new Promise<void>((resolve) => (isClosed = resolve))
        assert.strictEqual(await open(url, "a", isClosed), 101)
        assert.strictEqual(await open(url, "a"), 101)
        assert.strictEqual(await open(url, "a"), 101)
        await closed
        server.closeAllConnections()
      },
      { ...never, clientAddress: address, maxPendingOfAddress: 2, pendingGrace: 0 }
    ))

  it("connections whose owner is not known yet are counted by address, and one too many is 503 at first", async () => {
    const options = { ...never, clientAddress: address, maxPendingOfAddress: 2, pendingGrace: "1 hour" } as const
    await withService(
      [],
      async ({ server, url }) => {
        assert.deepStrictEqual([await open(url, "a"), await open(url, "a"), await open(url, "a")], [101, 101, 503])
        assert.deepStrictEqual([await open(url, "b"), await open(url, "b")], [101, 101])
        server.closeAllConnections()
      },
      options
    )
  })

  it("a thousand silent connections from ten addresses shut nobody out: the oldest go", async () => {
    const clientAddress: UpgradeOptions["clientAddress"] = ({ headers }) => headers["x-client"]
    const authenticate: UpgradeOptions["authenticate"] = ({ headers }) =>
      headers["x-client"] === "friend" ? "ada" : new Promise<string>(() => {})
    await withService(
      [[hang], [hang], [hang]],
      async ({ url }) => {
        const closed: Array<number> = []
        const silent: Array<WebSocket> = []
        while (silent.length < 1000) {
          const some = Array.from({ length: 50 }, (_, index) => {
            const number = silent.length + index
            const socket = new WebSocket(url, { headers: { "x-client": `address ${Math.floor(number / 100)}` } })
            socket.on("close", () => closed.push(number)).on("error", () => {})
            return socket
          })
          silent.push(...some)
          await Promise.all(some.map((socket) => new Promise((resolve) => socket.on("open", resolve))))
        }
        for (let turn = 0; turn < 3; turn++) {
          const friend = rawClient(url, { headers: { "x-client": "friend" } })
          await friend.heard("session.begin")
        }
        assert.isAtMost(closed.length, 3)
        assert.include(closed, 0)
        for (const socket of silent) socket.terminate()
      },
      { authenticate, clientAddress }
    )
  })

  it("lives under any base path beside another user of upgrades, who keeps his own paths", () => {
    const neighbour = new WebSocketServer({ noServer: true })
    return withService(
      [[hang]],
      async (service) => {
        const ours = rawClient(service.url, { key: service.key })
        await ours.heard("session.begin")
        const theirs = new WebSocket(service.url.replace("/ai/threads/realtime", "/chat"))
        const [text] = await new Promise<[Buffer]>((resolve) => theirs.on("message", (data: Buffer) => resolve([data])))
        assert.strictEqual(text.toString(), "neighbour")
        theirs.terminate()
      },
      { basePath: "/ai/" },
      (server) => {
        server.on("upgrade", (upgrade, socket, head) => {
          if (upgrade.url !== "/chat") return void socket.destroy()
          neighbour.handleUpgrade(upgrade, socket, head, (client) => client.send("neighbour"))
        })
      }
    )
  })

  it("alone on a server, other upgrades are refused and plain requests are answered", () =>
    withService([], async (service) => {
      assert.strictEqual(await refusedStatus(service.url.replace("/threads/realtime", "/other")), 404)
      const status = await new Promise((resolve) => {
        request(service.url.replace("ws:", "http:"), (response) => {
          response.resume()
          resolve(response.statusCode)
        }).end()
      })
      assert.strictEqual(status, 200)
    }))
})

describe("hostile clients", () => {
  it("realtime client frame: at most 256 KiB; one byte more is told frame_too_large and closed with 1009", () =>
    withService([[hang], [hang]], async (service) => {
      const fits = rawClient(service.url, { key: service.key })
      await fits.heard("session.begin")
      fits.socket.send(Buffer.alloc(256 * 1024))
      fits.send({ type: "nonsense" })
      await fits.heard("error")
      assert.lengthOf(service.voice.heard(), 256 * 1024)
      const large = rawClient(service.url, { key: service.key })
      await large.heard("session.begin")
      large.socket.send(Buffer.alloc(256 * 1024 + 1))
      assert.strictEqual((await large.heard("error"))["code"], "frame_too_large")
      assert.strictEqual(await large.closed, 1009)
      fits.send({ type: "stop" })
      assert.strictEqual(await fits.closed, 1000)
    }))

  it("a frame that is too large is refused by its header, before anything of it is there; fragments are added up", () =>
    withService([[hang], [hang]], async (service) => {
      const claim = Buffer.alloc(14)
      claim.writeUInt8(0x82, 0)
      claim.writeUInt8(0x80 | 127, 1)
      claim.writeBigUInt64BE(300_000n, 2)
      const { socket } = await sendBytes(service, Buffer.concat([masked(firstFrame), claim]), "frame_too_large")
      socket.destroy()
      const client = rawClient(service.url, { key: service.key })
      await client.heard("session.begin")
      client.socket.send(Buffer.alloc(200 * 1024), { fin: false })
      client.socket.send(Buffer.alloc(100 * 1024), { fin: true })
      assert.strictEqual((await client.heard("error"))["code"], "frame_too_large")
      assert.strictEqual(await client.closed, 1009)
      assert.lengthOf(service.voice.heard(), 0)
    }))

  it("refuses a first frame that cannot be used, with a sentence that names the field", () =>
    withService([], async (service) => {
      const firsts = [
        [],
        null,
        "text",
        { provider: "scripted" },
        { ...firstFrame, memory: "auto" },
        { ...firstFrame, web_search: "auto" },
        { ...firstFrame, image_generation: "Auto" },
        { ...firstFrame, image_generation: "auto" },
        { ...firstFrame, image_config: {} },
        { ...firstFrame, video_generation: "auto", video_model_name: "x" },
        { ...firstFrame, tools: [{ type: "function", function: { name: "a b" } }] },
        { ...firstFrame, tools: [1, 2].map(() => ({ type: "function", function: { name: "twice" } })) },
        { ...firstFrame, thread_id: 1 },
        { ...firstFrame, provider: "nobody" }
      ]
      for (const first of firsts) {
        const client = rawClient(service.url, { key: service.key, first: null })
        await new Promise((resolve) => client.socket.on("open", resolve))
        client.socket.send(JSON.stringify(first))
        assert.strictEqual((await client.heard("error"))["code"], "invalid_first_frame", JSON.stringify(first))
        assert.strictEqual(await client.closed, 1008)
      }
      const binary = rawClient(service.url, { key: service.key, first: null })
      await new Promise((resolve) => binary.socket.on("open", resolve))
      binary.socket.send(Buffer.from(JSON.stringify(firstFrame)))
      assert.strictEqual((await binary.heard("error"))["code"], "invalid_first_frame")
    }))

  it("10,000 frames of nonsense get only errors, and disturb no other session", () =>
    withService([[hang], [hear("Still there?"), say("Yes.")]], async (service) => {
      const hostile = rawClient(service.url, { key: service.key })
      await hostile.heard("session.begin")
      const good = rawClient(service.url, { key: service.key })
      await good.heard("session.begin")
      const deep = "[".repeat(10_000) + "]".repeat(10_000)
      const kinds = [
        "{",
        "null",
        "[]",
        '"text"',
        deep,
        `{"type":"text","text":${deep}}`,
        `{"type":"provider.event","event":{"a":${deep}}}`,
        '{"type":"text"}',
        '{"type":"tool.outputs","outputs":{}}',
        '{"type":"tool.outputs","outputs":[{"tool_call_id":"x","name":"y","output":1}]}',
        '{"__proto__":{"type":"stop"}}',
        '{"type":"constructor"}',
        '{"type":["stop"]}'
      ]
      for (let index = 0; index < 10_000; index++) hostile.socket.send(kinds[index % kinds.length] ?? "")
      hostile.send({ type: "stop" })
      assert.strictEqual(await hostile.closed, 1000)
      const types = new Set(hostile.events.slice(1, -1).map(({ type }) => type))
      assert.deepStrictEqual([...types], ["error"])
      assert.lengthOf(hostile.events, 10_002)
      good.socket.send(Buffer.alloc(960))
      await good.heard("response.done")
      good.send({ type: "stop" })
      assert.strictEqual(await good.closed, 1000)
    }))

  it("10,000 frames of every kind, from a hundred connections, end no session but the offender's", () =>
    withService(
      [[hear("Still there?"), say("Yes.")], ...Array.from({ length: 100 }, () => [hang])],
      async (service) => {
        const good = rawClient(service.url, { key: service.key })
        await good.heard("session.begin")
        const random = numbersFrom(7)
        const offenders = Array.from({ length: 100 }, async () => {
          const offender = rawClient(service.url, { key: service.key })
          await offender.heard("session.begin")
          for (let index = 0; index < 100; index++)
            hostileFrames[random(hostileFrames.length)]?.(offender.socket, random)
          offender.socket.close()
          const code = await offender.closed
          return { code, types: offender.events.slice(1).map(({ type }) => type) }
        })
        for (const { code, types } of await Promise.all(offenders)) {
          assert.includeMembers([1000, 1002, 1005, 1006, 1007, 1008, 1009], [code])
          assert.includeMembers(["error", "provider.event", "session.ended"], [...new Set(types)])
        }
        good.socket.send(Buffer.alloc(960))
        await good.heard("response.done")
        good.send({ type: "stop" })
        assert.strictEqual(await good.closed, 1000)
      }
    ))
})

type Random = (below: number) => number

/** The same numbers in every run. */
const numbersFrom = (seed: number): Random => {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const bytes = (random: Random, length: number): Buffer => Buffer.from(Array.from({ length }, () => random(256)))

const randomJson = (random: Random, depth = 0): unknown => {
  const kinds = [null, true, random(1000), "text", "stop", "tool.outputs", { type: random(9) }]
  if (depth < 3 && random(2) === 0) {
    return { type: kinds[random(kinds.length)], event: randomJson(random, depth + 1), outputs: [randomJson(random, 3)] }
  }
  return kinds[random(kinds.length)]
}

/** Random JSON, wrong types, binary of any length, texts that are no UTF-8, fragments that stay open, what is too large, pings. */
const hostileFrames: ReadonlyArray<(socket: WebSocket, random: Random) => void> = [
  (socket, random) => send(socket, JSON.stringify(randomJson(random))),
  (socket, random) => send(socket, JSON.stringify({ type: "text", text: random(9) })),
  (socket, random) => send(socket, JSON.stringify({ type: "tool.outputs", outputs: randomJson(random) })),
  (socket, random) => send(socket, JSON.stringify({ type: "provider.event", event: randomJson(random) })),
  (socket, random) => send(socket, bytes(random, random(64)), { binary: true }),
  (socket) => send(socket, Buffer.alloc(0), { binary: true }),
  (socket) => send(socket, "x".repeat(10_000)),
  (socket, random) => {
    if (random(50) === 0) send(socket, Buffer.from([0xff, 0xfe, 0xc0]), { binary: false })
  },
  (socket, random) => {
    if (random(50) === 0) send(socket, "{", { fin: false })
  },
  (socket, random) => {
    if (random(50) === 0) send(socket, Buffer.alloc(256 * 1024 + 1), { binary: random(2) === 0 })
  },
  (socket) => {
    if (socket.readyState === WebSocket.OPEN) socket.ping("x".repeat(125))
  }
]

const send = (socket: WebSocket, data: string | Buffer, options: Parameters<WebSocket["send"]>[1] = {}): void => {
  if (socket.readyState === WebSocket.OPEN) socket.send(data, options)
}

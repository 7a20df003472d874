/**
 * The standalone server: the whole service on one port, over `node:http` and nothing else. Everything about it that a host would write
 * himself stands here; the rest are layers of the packages.
 */
import { Pglite } from "@colloquy/adapters/pglite"
import { Postgres } from "@colloquy/adapters/postgres"
import { HostedTools, Kernel, Keys, Principal, Providers, defaultTurnSettings, TurnSettings } from "@colloquy/core"
import { webHandler, type WebHandler } from "@colloquy/http"
import { toNodeHandler } from "@colloquy/http/node"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { createServer, type Server } from "node:http"
import { clock } from "./Clock.ts"
import { pageResponse } from "./Page.ts"
import { type Settings, SettingsRefused } from "./Settings.ts"
import { defaultProblem, providersOf } from "./Vendors.ts"

export interface RunningServer {
  readonly url: string
  /** The key that was made at this first start; null when there were keys already. */
  readonly newKey: Redacted.Redacted<string> | null
  readonly defaultModel: string
  /** Lets running turns settle, answers new ones with 503 meanwhile, then closes everything. */
  readonly stop: () => Promise<void>
}

export class CannotListen extends Data.TaggedError("CannotListen")<{ readonly where: string; readonly code: string }> {
  override get message() {
    return `The server cannot listen on ${this.where} (${this.code}). Set HOST or PORT to a free address.`
  }
}

/** Whose the key is that is made when the operator gives none. */
const soleOwner = "default"

const storesOf = (settings: Settings) =>
  settings.databaseUrl !== null
    ? Postgres.layer({ url: settings.databaseUrl })
    : Pglite.layer(settings.dataDir === "memory://" ? {} : { dataDir: settings.dataDir })

/** The operator's keys, or one that is made at the first start. */
const prepareKeys = Effect.fnUntraced(function* (settings: Settings) {
  const keys = yield* Keys
  for (const { key, ownerId } of settings.apiKeys) {
    yield* keys.register("environment", key).pipe(Principal.provide(ownerId))
  }
  if (settings.apiKeys.length > 0) return null
  const known = yield* keys.list.pipe(Principal.provide(soleOwner))
  if (known.some((key) => key.revokedAt === null)) return null
  return (yield* keys.make("first start").pipe(Principal.provide(soleOwner))).key
})

export const startServer = async (settings: Settings): Promise<RunningServer> => {
  const providers = providersOf(settings)
  const problem = defaultProblem(providers)
  if (problem !== undefined) throw new SettingsRefused({ problems: [problem] })

  let newKey: Redacted.Redacted<string> | null = null
  let isStoreUp: Effect.Effect<boolean> = Effect.succeed(false)
  const atStart = Layer.effectDiscard(
    Effect.gen(function* () {
      newKey = yield* prepareKeys(settings)
      const keys = yield* Keys
      isStoreUp = keys.list.pipe(Principal.provide(soleOwner), Effect.option, Effect.map(Option.isSome))
    })
  )
  const kernel = atStart.pipe(
    Layer.provideMerge(Kernel.layer),
    Layer.provide([
      Providers.layer(providers),
      storesOf(settings),
      Layer.succeed(HostedTools, [clock]),
      Layer.succeed(TurnSettings, { ...defaultTurnSettings, drainTimeout: "5 seconds" })
    ])
  )
  const api = webHandler({ kernel, basePath: settings.basePath })
  await api.ready()

  let draining = false
  const server = createServer(
    toNodeHandler(async (request) => {
      const { pathname } = new URL(request.url)
      if (pathname === "/healthz") return Response.json({ status: "ok" })
      if (pathname === "/readyz") {
        const ready = !draining && (await Effect.runPromise(isStoreUp))
        return Response.json({ status: ready ? "ready" : "not ready" }, { status: ready ? 200 : 503 })
      }
      return (await pageResponse(pathname, request.method, settings.basePath)) ?? api.handler(request)
    })
  )
  const url = await listen(server, settings, api)
  return {
    url,
    newKey,
    defaultModel: `${providers.defaults.provider}/${providers.defaults.model}`,
    stop: async () => {
      draining = true
      await api.drain()
      await close(server)
      await api.dispose()
    }
  }
}

const listen = async (server: Server, { host, port }: Settings, api: WebHandler): Promise<string> => {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen(port, host, resolve)
    })
  } catch (error) {
    await api.dispose()
    throw new CannotListen({ where: `${host}:${port}`, code: String(Object(error).code) })
  }
  const address = server.address()
  const actual = typeof address === "object" && address !== null ? address.port : port
  return `http://${host.includes(":") ? `[${host}]` : host}:${actual}`
}

/** Nothing new comes in, and what waits for events that will not come is let go. */
const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
    const patience = setTimeout(() => server.closeAllConnections(), 1000)
    server.once("close", () => clearTimeout(patience))
  })

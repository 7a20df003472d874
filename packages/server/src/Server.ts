/**
 * The standalone server: the whole service on one port, over `node:http` only. This package contains everything that a host would write;
 * the rest are layers of the other packages.
 */
import {
  DefaultEmbedding,
  HostedTools,
  Kernel,
  Keys,
  Principal,
  Providers,
  Quotas,
  RateLimiter,
  defaultTurnSettings,
  TurnSettings
} from "@colloquy/core"
import { type ProvidersOptions, usualDimensions } from "@colloquy/core/adapters"
import { Answers } from "@colloquy/core/answers"
import { documentSummaries } from "@colloquy/core/documents"
import { Memory, Reranker } from "@colloquy/core/memory"
import { defaultSessionLimits, Realtime } from "@colloquy/core/realtime"
import { Evals } from "@colloquy/core/evals"
import { Summaries } from "@colloquy/core/summaries"
import { Schedules } from "@colloquy/core/schedules"
import { Webhooks } from "@colloquy/core/webhooks"
import { NodeWebhooks } from "@colloquy/adapters/webhooks"
import { Retention } from "@colloquy/core/retention"
import { Helpers } from "@colloquy/core/helpers"
import { Inspections } from "@colloquy/core/inspection"
import { Outputs } from "@colloquy/core/outputs"
import { Voice } from "@colloquy/core/voice"
import { WebSearch } from "@colloquy/core/web-search"
import { webHandler, type WebHandler } from "@colloquy/http"
import { Images, Videos } from "@colloquy/core/media"
import { docsPageWith } from "@colloquy/http/docs-page"
import { refuseInJson, toNodeHandler } from "@colloquy/http/node"
import { agUi } from "@colloquy/http/ag-ui"
import { mcp } from "@colloquy/http/mcp"
import { openai } from "@colloquy/http/openai"
import { toolAccess } from "@colloquy/http/tool-access"
import { type Studio, studio } from "@colloquy/studio"
import { attachUpgrade, realtimeSocket } from "@colloquy/ws"
import { openAiRealtime } from "@colloquy/ws/openai"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { MinimumLogLevel } from "effect/References"
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage, type Server } from "node:http"
import { clock } from "./demo/Clock.ts"
import { blobsLayer, documentsLayer, readSigningKey } from "./Documents.ts"
import { guideResponse, hasGuide, isGuidePath } from "./GuideResponse.ts"
import { accountsLayer, mcpLayer } from "./McpServers.ts"
import { type EndedLeg, watchLegs } from "./RunLines.ts"
import { authenticateBy, clientAddressBy, prepareKeys, soleOwner } from "./ServerKeys.ts"
import { type Settings, SettingsRefused } from "./Settings.ts"
import { addressRefused, storeRefused } from "./StartRefused.ts"
import { prepareFolder, makeStores } from "./Stores.ts"
import { streamsDocument } from "./StreamsDocument.ts"
import {
  makeJudge,
  makeProviders,
  realtimeModels,
  makeReranker,
  makeSearchEngine,
  providerProblems,
  voiceNotes
} from "./Services.ts"

/** A server that listens, and how it is ended. */
export interface RunningServer {
  readonly url: string
  /** The key that was made at the first start; null when there were keys already. */
  readonly newKey: Redacted.Redacted | null
  readonly defaultModel: string
  /** What is missing for speech input and output. */
  readonly voiceNotes: ReadonlyArray<string>
  /** Waits for running turns, answers new ones with 503 meanwhile, then closes everything. */
  readonly stop: () => Promise<void>
}

export interface ServerHooks {
  /** Called when the end of a leg is stored. */
  readonly onLeg?: (leg: EndedLeg) => void
}

/** Opens the database, listens, and ends the runs of processes that died. Rejects with `StartRefused` or `SettingsRefused` when it cannot. Call `stop()` of the result at the end. */
export const startServer = async (settings: Settings, hooks: ServerHooks = {}): Promise<RunningServer> => {
  const providers = makeProviders(settings)
  const problems = providerProblems(settings, providers)
  if (problems.length > 0) throw new SettingsRefused({ problems })
  await prepareFolder(settings)

  const opened = await openService(settings, providers, hooks)
  const { api, newKey, voice } = opened
  let draining = false
  const isReady = async () => !draining && (await Effect.runPromise(opened.isStoreUp))
  const page = studio({ api: settings.basePath, ...(hasGuide ? { guide: `${settings.basePath}/docs/guide` } : {}) })
  const streamsPath = `${settings.basePath}/asyncapi.json`
  const own = toNodeHandler(async (request) =>
    new URL(request.url).pathname === streamsPath
      ? streamsDocument(api, settings.basePath)
      : answer(request, settings.basePath, page, isReady)
  )
  const server = refuseInJson(
    createServer((message, response) => {
      const [path = "/"] = (message.url ?? "/").split("?", 1)
      const isRead = message.method === "GET" || message.method === "HEAD"
      const isShown = isRead && (path === streamsPath || page.answers(path))
      if (isShown || healthPaths.has(path) || isGuidePath(path, settings.basePath)) return own(message, response)
      toBasePath(message, settings)
      api.node(message, response)
    })
  )
  attachUpgrade(server, (message, socket, head) => {
    toBasePath(message, settings)
    return voice.handle(message, socket, head)
  })
  const url = await listen(server, settings, api)
  opened.listensAt(url)
  return {
    url,
    newKey,
    defaultModel: `${providers.defaults.provider}/${providers.defaults.model}`,
    voiceNotes: voiceNotes(providers),
    stop: async () => {
      draining = true
      await Promise.all([api.drain(), voice.drain()])
      await close(server)
      await api.dispose()
    }
  }
}

/** OpenAI's clients use paths at the root, whatever the base path of the API is. */
const toBasePath = (message: IncomingMessage, { basePath }: Settings): void => {
  if (message.url?.startsWith("/v1/") === true) message.url = basePath + message.url
}

/** The kernel with its API, and the services that the server itself uses. */
const openService = async (settings: Settings, providers: ProvidersOptions, { onLeg }: ServerHooks) => {
  let newKey: Redacted.Redacted | null = null
  /** Known when the server listens. */
  let address: string | null = null
  let isStoreUp: Effect.Effect<boolean> = Effect.succeed(false)
  const atStart = Layer.effectDiscard(
    Effect.gen(function* () {
      newKey = yield* prepareKeys(settings)
      const { list } = yield* Keys
      isStoreUp = list.pipe(
        Principal.provide(soleOwner),
        Effect.timeout("3 seconds"),
        Effect.option,
        Effect.map(Option.isSome)
      )
    })
  )
  const watch = onLeg === undefined ? null : watchLegs(onLeg)
  const { apiKeys, basePath, bodyTimeout, streams } = settings
  const access = {
    basePath,
    authenticate: authenticateBy(apiKeys),
    clientAddress: clientAddressBy(settings.clientAddress),
    failedKeys: { limit: settings.failedKeys, window: "1 minute" }
  } as const
  const voice = realtimeSocket({ ...access, doors: [openAiRealtime] })
  const signingKey = await readSigningKey(settings).catch((error: unknown) => {
    throw storeRefused(settings, error)
  })
  const publicUrl = () => settings.publicUrl ?? address
  const callback = () => `${publicUrl()?.replace(/\/$/u, "") ?? ""}${basePath}/tool-access/callback`
  const rooms = Layer.mergeAll(
    atStart,
    Layer.provide(Answers.layer(), documentSummaries),
    Outputs.layer(),
    Helpers.layer(),
    Inspections.layer(),
    Memory.layer(),
    Retention.layer(settings.retention),
    settings.summarizesThreads ? Summaries.layer() : Layer.empty,
    Evals.layer({ online: settings.onlineScoring, scoring: { judge: makeJudge(settings, providers) } }),
    Schedules.layer(),
    Layer.provide(
      Webhooks.layer(),
      NodeWebhooks.layer({ ...sealing(signingKey), privateAddresses: settings.webhookPrivateAddresses })
    ),
    Images.layer(),
    Videos.layer(settings.video),
    Voice.layer(),
    WebSearch.layer(makeSearchEngine(settings)),
    HostedTools.tools([clock]),
    mcpLayer(settings.mcpServers),
    accountsLayer(settings.mcpServers, { ...sealing(signingKey), callback })
  )
  const kernel = voice.layer.pipe(
    Layer.provideMerge(rooms),
    Layer.provideMerge(Realtime.layer({ lease: sessionLease(settings) })),
    Layer.provide(realtimeModels(settings, providers)),
    Layer.provideMerge(documentsLayer(settings)),
    Layer.provideMerge(Kernel.layer),
    // The API and the socket count wrong keys together.
    Layer.provideMerge(RateLimiter.layerInProcess),
    Layer.provide([
      Providers.layer(providers),
      // Of two stores of bytes, the later one is used.
      Layer.merge(
        watch === null ? makeStores(settings) : Layer.provideMerge(watch.store, makeStores(settings)),
        blobsLayer(settings)
      ),
      embeddingLayer(settings, providers),
      Layer.succeed(Quotas, () => settings.limits),
      Layer.succeed(Reranker, makeReranker(settings)),
      Layer.succeed(TurnSettings, Object.assign({}, defaultTurnSettings, settings.turns))
    ]),
    Layer.provideMerge(
      Layer.mergeAll(
        Layer.succeed(MinimumLogLevel, settings.logLevel),
        watch === null ? Layer.empty : Logger.layer([watch.logger, Logger.tracerLogger])
      )
    )
  )
  const links = {
    publicUrl,
    signingKey,
    linkPeriod: settings.mediaUrls
  }
  const api = webHandler({
    ...access,
    ...links,
    kernel,
    bodyTimeout,
    streams,
    docs: docsPageWith(docsLinks),
    wings: [openai, agUi, mcp, toolAccess]
  })
  try {
    await api.ready()
  } catch (error) {
    throw storeRefused(settings, error)
  }
  return { api, isStoreUp, newKey, voice, listensAt: (url: string) => void (address = url) }
}

/** The page of the API is at `<base>/docs`, the guide below it, and the studio at the root. */
const docsLinks = [...(hasGuide ? [{ title: "Guide", href: "docs/guide" }] : []), { title: "Studio", href: "/" }]

/** The signing key of addresses also encrypts what is stored of secrets. A server that keeps nothing makes one for itself. */
const sealing = (signingKey: Awaited<ReturnType<typeof readSigningKey>>) => {
  const [secret = Redacted.make(randomUUID()), ...earlierSecrets] = [signingKey ?? []].flat()
  return { secret, earlierSecrets }
}

/** The lease of runs, but at most 15 seconds, so that a dead process does not block the threads of its voice sessions for longer. */
const sessionLease = ({ turns }: Settings): Duration.Duration =>
  Duration.min(Duration.fromInputUnsafe(turns.lease), Duration.fromInputUnsafe(defaultSessionLimits.lease))

/** Without settings, the kernel's own choice is used. */
const embeddingLayer = ({ embedding }: Settings, { providers }: ProvidersOptions): Layer.Layer<never> => {
  if (embedding === null) return Layer.empty
  const { provider } = embedding
  const own = providers.find(({ id }) => id === provider)
  const model = embedding.model ?? own?.defaultEmbedding?.model ?? null
  const dimensions = embedding.dimensions ?? usualDimensions(own, model) ?? 3072
  return Layer.succeed(DefaultEmbedding, { provider, model, dimensions })
}

const healthPaths: ReadonlySet<string> = new Set(["/healthz", "/readyz"])

const answer = async (
  request: Request,
  basePath: string,
  page: Studio,
  isReady: () => Promise<boolean>
): Promise<Response> => {
  const { pathname } = new URL(request.url)
  if (pathname === "/healthz") return health(200, "ok")
  if (pathname === "/readyz") return (await isReady()) ? health(200, "ready") : health(503, "not ready")
  if (isGuidePath(pathname, basePath)) return guideResponse(request, basePath)
  return page.handler(request)
}

const health = (status: number, word: string): Response =>
  Response.json({ status: word }, { status, headers: { "x-content-type-options": "nosniff" } })

const listen = async (server: Server, { host, port }: Settings, api: WebHandler): Promise<string> => {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen(port, host, resolve)
    })
  } catch (error) {
    await api.dispose()
    throw addressRefused(`${host}:${port}`, error)
  }
  const address = server.address()
  const actual = typeof address === "object" && address !== null ? address.port : port
  return `http://${host.includes(":") ? `[${host}]` : host}:${actual}`
}

/** How long responses that are still being sent may take after every turn has ended. */
const lastAnswers = 5000

/**
 * After the drain: no new connections are accepted, running responses are sent to their end, and responses that wait for further events are
 * closed.
 */
const close = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    const sweep = setInterval(() => server.closeIdleConnections(), 50)
    const deadline = setTimeout(() => server.closeAllConnections(), lastAnswers)
    server.close(() => {
      clearInterval(sweep)
      clearTimeout(deadline)
      resolve()
    })
  })

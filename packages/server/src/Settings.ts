/**
 * The environment of the standalone server. Everything has a default. Invalid variables are reported in one list, so that the operator can
 * correct all of them at once. A value is never printed, because it may be a key.
 */
import type { OnlineSettings } from "@colloquy/core/wings"
import type { S3Blobs } from "@colloquy/adapters/s3"
import type { Quota, TurnSettings } from "@colloquy/core"
import { defaultVideoSettings, type VideoSettings } from "@colloquy/core/media"
import type { RetentionSettings } from "@colloquy/core/retention"
import * as Duration from "effect/Duration"
import type { LogLevel } from "effect/LogLevel"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"
import {
  priceVariables,
  type RealtimeVendor,
  realtimeVariables,
  type Variable,
  variables,
  vendorVariables
} from "./Variables.ts"
import type { NamedServer } from "./McpServers.ts"
import { type Vendor, vendors, type VendorSettings } from "./Vendors.ts"
import type { NamedVoices } from "./VoiceParts.ts"
import type { VoicePriceLists } from "./VoicePriceSettings.ts"

/** The variables that settings are read from. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The store of bytes, if it is not the database. */
export type BlobSettings =
  | { readonly _tag: "Folder"; readonly folder: string }
  | { readonly _tag: "S3"; readonly options: S3Blobs.S3BlobOptions }

export interface Settings {
  readonly host: string
  readonly port: number
  readonly basePath: string
  readonly databaseUrl: Redacted.Redacted<string> | null
  readonly dataDir: string
  /** Keys that the operator chose, with their owners. */
  readonly apiKeys: ReadonlyArray<{ readonly key: Redacted.Redacted<string>; readonly ownerId: string }>
  readonly defaultProvider: string | null
  readonly defaultModel: string | null
  /** The time between two words of the demo model, so that a person sees an answer grow. No variable sets it. */
  readonly demoPace: Duration.Input
  /** The operator's settings of turns. */
  readonly turns: Pick<
    TurnSettings,
    "approvalTimeout" | "lease" | "queueTimeout" | "sweep" | "maxQueued" | "drainTimeout"
  >
  readonly bodyTimeout: Duration.Duration
  readonly streams: number
  readonly video: Pick<VideoSettings, "firstPause" | "longestPause" | "reattach">
  /** How long records are kept that are needed for a limited time only. */
  readonly retention: Pick<RetentionSettings, "logs" | "followUps" | "deadFollowUps" | "learnedRuns">
  /** What each owner may use. */
  readonly limits: Quota
  /** Wrong keys of one address per minute before it is refused. */
  readonly failedKeys: number
  /** Where to find the client's address: `connection`, or a header that a proxy sets; `none`: it is not used. */
  readonly clientAddress: string
  /** Vendors with a key or an address, in the order of the table. */
  readonly vendors: ReadonlyMap<Vendor, VendorSettings>
  /** The web search engine; null: only models with a search of their own can search. */
  readonly search: Vendor | null
  /** True: the program espeak-ng is on the path. It speaks if no vendor does. */
  readonly hasEspeak: boolean
  /** Servers whose tools are offered to models. */
  readonly mcpServers: ReadonlyArray<NamedServer>
  /** Voices that are made of three models, by name, and the one that takes over when another voice fails. */
  readonly voiceParts: NamedVoices
  readonly voiceFallback: string | null
  readonly onlineScoring: OnlineSettings
  /** The reranker of Memory Pro; null: the assistant's own model. */
  readonly reranking: { readonly vendor: Vendor; readonly model: string | null } | null
  /**
   * The embedding model of new assistants, and of those whose own model is no longer registered. Null: that of the first provider that has
   * one.
   */
  readonly embedding: {
    readonly provider: string
    readonly model: string | null
    readonly dimensions: number | null
  } | null
  /** The store of the bytes of files; null: the database. */
  readonly blobs: BlobSettings | null
  /** How long a message waits for the files that came with it. */
  readonly attachmentWait: Duration.Duration
  /** Whether the reranker also orders what is found in documents. */
  readonly reranksDocuments: boolean
  readonly webhookPrivateAddresses: boolean
  /** Whether the model of a conversation summarises messages that no longer fit into its window. */
  readonly summarizesThreads: boolean
  /** The least important level of log lines that are printed. */
  readonly logLevel: LogLevel
  /** Whether a model summarises each document. */
  readonly summarizesDocuments: boolean
  /** The public address of the server, without the base path; null: the address on which it listens. */
  readonly publicUrl: string | null
  /**
   * The keys that sign addresses of files: the first signs new ones, and a signature of any of them is valid. Null: one key is made and
   * kept.
   */
  readonly signingKey: ReadonlyArray<Redacted.Redacted<string>> | null
  /** The minimum time for which such an address is valid. */
  readonly mediaUrls: Duration.Duration
  /** The settings of the vendors with voices. */
  readonly realtime: { readonly [Name in RealtimeVendor]: RealtimeSettings }
  /** The prices of their models, by the models' names. */
  readonly voicePrices: VoicePriceLists
}

interface RealtimeSettings {
  /** The whole address; null: the vendor's own. */
  readonly url: string | null
  /** Empty: the usual ones. */
  readonly models: ReadonlyArray<string>
}

/** Variables that cannot be used, each in one sentence. */
export class SettingsRefused extends Schema.TaggedError<SettingsRefused>()("SettingsRefused", {
  problems: Schema.Array(Schema.String)
}) {
  override get message() {
    return `The environment is not right:\n${this.problems.map((problem) => `  - ${problem}`).join("\n")}`
  }
}

type Read = <A>(variable: Variable<A>) => A

/**
 * Reads all variables, and fails with every problem found. An empty variable counts as not set, except that an empty BASE_PATH is the root.
 */
export const readSettings = (env: Environment): Effect.Effect<Settings, SettingsRefused> =>
  Effect.suspend(() => {
    const problems = new Set<string>()
    /** The fallback of a variable that is not set, and also of an invalid one, whose problem is told. */
    const read: Read = ({ decode, fallback, name, wants }) => {
      const text = env[name] ?? ""
      if (text === "") return fallback
      return Option.getOrElse(decode(text), () => {
        problems.add(`${name} must be ${wants}`)
        return fallback
      })
    }
    const settings = settingsBy(read, env)
    const all = [...problems, ...together(settings, read)]
    return all.length === 0 ? Effect.succeed(settings) : Effect.fail(new SettingsRefused({ problems: all }))
  })

const settingsBy = (read: Read, env: Environment): Settings => {
  const seconds = (variable: Variable<number>) => Duration.seconds(read(variable))
  const days = (variable: Variable<number | null>) =>
    Option.fromNullishOr(read(variable)).pipe(Option.map(Duration.days), Option.getOrNull)
  const given = vendorsBy(read)
  const [provider, model] = [read(variables.embeddingProvider), read(variables.embeddingModel)]
  const dimensions = read(variables.embeddingDimensions)
  return {
    host: read(variables.host),
    port: read(variables.port),
    basePath: trimmed(env["BASE_PATH"] === "" ? "" : read(variables.basePath)),
    databaseUrl: secret(read(variables.databaseUrl)),
    dataDir: read(variables.dataDir),
    demoPace: "30 millis",
    apiKeys: read(variables.apiKeys).split(",").flatMap(toPair),
    defaultProvider: read(variables.defaultProvider),
    defaultModel: read(variables.defaultModel),
    turns: {
      lease: seconds(variables.lease),
      queueTimeout: seconds(variables.queueTimeout),
      sweep: seconds(variables.sweep),
      drainTimeout: seconds(variables.drainTimeout),
      approvalTimeout: Option.getOrNull(Option.map(Option.fromNullishOr(read(variables.approvals)), Duration.seconds)),
      maxQueued: read(variables.maxQueued)
    },
    bodyTimeout: seconds(variables.bodyTimeout),
    streams: read(variables.streams),
    video: { ...makePace(seconds(variables.videoPoll)), reattach: read(variables.videoReattach) },
    retention: {
      logs: days(variables.keptLogs),
      followUps: days(variables.keptFollowUps),
      deadFollowUps: days(variables.keptDeadFollowUps),
      learnedRuns: days(variables.keptLearnedRuns)
    },
    limits: read(variables.limits),
    failedKeys: read(variables.failedKeys),
    clientAddress: read(variables.clientAddress),
    hasEspeak: isOnPath("espeak-ng", env["PATH"] ?? ""),
    vendors: given,
    blobs: blobsBy(read),
    attachmentWait: seconds(variables.attachmentWait),
    reranksDocuments: read(variables.reranksDocuments),
    webhookPrivateAddresses: read(variables.webhookPrivateAddresses),
    summarizesThreads: read(variables.summarizesThreads),
    logLevel: read(variables.logLevel),
    summarizesDocuments: read(variables.summarizesDocuments),
    publicUrl: read(variables.publicUrl),
    signingKey:
      read(variables.signingKey)
        ?.split(",")
        .map((key) => Redacted.make(key)) ?? null,
    mediaUrls: seconds(variables.mediaUrls),
    mcpServers: read(variables.mcpServers),
    voiceParts: read(variables.voiceParts),
    voiceFallback: read(variables.voiceFallback),
    onlineScoring: read(variables.onlineScoring),
    search: firstWith("search", given, read(variables.searchProvider)),
    reranking: rerankingBy(read, given),
    embedding: provider === null ? null : { provider, model, dimensions },
    realtime: { OPENAI: voicesBy(read, "OPENAI"), GEMINI: voicesBy(read, "GEMINI"), XAI: voicesBy(read, "XAI") },
    voicePrices: {
      OPENAI: read(priceVariables.OPENAI),
      GEMINI: read(priceVariables.GEMINI),
      XAI: read(priceVariables.XAI)
    }
  }
}

/** Variables that need others. */
const together = (settings: Settings, read: Read): ReadonlyArray<string> => {
  const [engine, reranker] = [read(variables.searchProvider)?.toUpperCase(), read(variables.rerankProvider)]
  const isWrong: ReadonlyArray<readonly [boolean, string]> = [
    [namesTwoUsers(settings.apiKeys), "COLLOQUY_API_KEYS must not have one key for two users"],
    [
      read(variables.blobs).startsWith("s3://") && settings.blobs === null,
      "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set when COLLOQUY_BLOBS names a bucket"
    ],
    [
      settings.defaultProvider !== null && settings.defaultModel === null,
      "DEFAULT_MODEL_NAME must be set when DEFAULT_LLM_PROVIDER is"
    ],
    [
      settings.search === null && engine !== undefined,
      `${engine}_API_KEY or ${engine}_BASE_URL must be set when WEB_SEARCH_PROVIDER is`
    ],
    [
      settings.search === "SEARXNG" && settings.vendors.get("SEARXNG")?.baseUrl === undefined,
      "SEARXNG_BASE_URL must be set, because it is a server of your own"
    ],
    [
      settings.reranking === null && (reranker ?? read(variables.rerankModel)) !== null,
      `A key or an address of ${reranker ?? "COHERE, VOYAGE or JINA"} must be set when RERANK_PROVIDER or RERANK_MODEL is`
    ],
    [
      settings.reranking === null && settings.reranksDocuments,
      "A key or an address of COHERE, VOYAGE or JINA must be set when RERANK_DOCUMENTS is true"
    ],
    [
      settings.voiceFallback !== null && !Object.hasOwn(settings.voiceParts, settings.voiceFallback),
      "VOICE_FALLBACK must be the name of a voice of VOICE_PARTS"
    ],
    [
      settings.embedding === null && (read(variables.embeddingModel) ?? read(variables.embeddingDimensions)) !== null,
      "DEFAULT_EMBEDDING_PROVIDER must be set when DEFAULT_EMBEDDING_MODEL or DEFAULT_EMBEDDING_DIMENSIONS is"
    ]
  ]
  return isWrong.flatMap(([is, problem]) => (is ? [problem] : []))
}

const vendorsBy = (read: Read): ReadonlyMap<Vendor, VendorSettings> =>
  new Map(
    [...vendors].flatMap(([vendor, { about }]) => {
      const named = vendorVariables(vendor, about)
      const [apiKey, baseUrl] = [read(named.apiKey), read(named.baseUrl)]
      if (apiKey === null && baseUrl === null) return []
      const found: VendorSettings = {
        ...(apiKey && { apiKey: Redacted.make(apiKey) }),
        ...(baseUrl && { baseUrl: trimmed(baseUrl) })
      }
      return [[vendor, found]]
    })
  )

/** The vendor that is named, otherwise the first that is set and offers this. */
const firstWith = (
  offer: "search" | "reranker",
  given: ReadonlyMap<Vendor, VendorSettings>,
  named: string | null
): Vendor | null =>
  [...given.keys()].find(
    (vendor) => vendors.get(vendor)?.[offer] !== undefined && (named === null || vendor.toLowerCase() === named)
  ) ?? null

const rerankingBy = (read: Read, given: ReadonlyMap<Vendor, VendorSettings>): Settings["reranking"] => {
  const vendor = firstWith("reranker", given, read(variables.rerankProvider))
  return vendor === null ? null : { vendor, model: read(variables.rerankModel) }
}

const voicesBy = (read: Read, vendor: RealtimeVendor): RealtimeSettings => {
  const { models, url } = realtimeVariables(vendor)
  return {
    url: read(url),
    models: read(models)
      .split(",")
      .flatMap((name) => name.trim() || [])
  }
}

/** Null: the database, or a bucket without its keys. */
const blobsBy = (read: Read): BlobSettings | null => {
  const place = read(variables.blobs)
  if (place === "database") return null
  if (!place.startsWith("s3://")) return { _tag: "Folder", folder: place }
  const [accessKeyId, secretAccessKey] = [read(variables.s3KeyId), read(variables.s3Secret)]
  const [sessionToken, region] = [read(variables.s3Session), read(variables.s3Region)]
  const endpoint = read(variables.s3Endpoint)
  if (accessKeyId === null || secretAccessKey === null) return null
  const [bucket = "", ...prefix] = trimmed(place.slice("s3://".length)).split("/")
  return {
    _tag: "S3",
    options: {
      bucket,
      accessKeyId,
      secretAccessKey: Redacted.make(secretAccessKey),
      ...(prefix.length > 0 && { prefix: prefix.join("/") }),
      ...(sessionToken && { sessionToken: Redacted.make(sessionToken) }),
      ...(region && { region }),
      ...(endpoint && { endpoint: trimmed(endpoint) })
    }
  }
}

/** The setting is the first pause; later pauses grow. */
const makePace = (firstPause: Duration.Duration) => ({
  firstPause,
  longestPause: Duration.max(firstPause, Duration.fromInputUnsafe(defaultVideoSettings.longestPause))
})

const secret = (text: string | null) => (text === null ? null : Redacted.make(text))

const trimmed = (url: string): string => url.replace(/\/+$/, "")

const toPair = (pair: string): Settings["apiKeys"] => {
  const [key, ownerId] = pair.trim().split("=")
  return key && ownerId ? [{ key: Redacted.make(key), ownerId }] : []
}

const namesTwoUsers = (apiKeys: Settings["apiKeys"]): boolean => {
  const owners = new Map(apiKeys.map(({ key, ownerId }) => [Redacted.value(key), ownerId]))
  return apiKeys.some(({ key, ownerId }) => owners.get(Redacted.value(key)) !== ownerId)
}

const isOnPath = (program: string, path: string): boolean =>
  path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return folder !== ""
    } catch {
      return false
    }
  })

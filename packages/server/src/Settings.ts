/**
 * The environment of the standalone server. Everything has a default. Invalid variables are reported in one list, so that the operator can
 * correct all of them at once. A value is never printed, because it may be a key.
 */
import type { Mcp } from "@colloquy/adapters/mcp"
import type { S3Blobs } from "@colloquy/adapters/s3"
import { noQuota, type Quota, type TurnSettings } from "@colloquy/core"
import { defaultVideoSettings, type VideoSettings } from "@colloquy/core/media"
import type { RetentionSettings } from "@colloquy/core/retention"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"
import { limitsForm, readLimits } from "./Limits.ts"
import { mcpForm, readMcpServers } from "./McpServers.ts"
import { VoicePriceLists } from "./VoicePriceSettings.ts"

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
  /** The operator's settings of turns. */
  readonly turns: Pick<TurnSettings, "lease" | "queueTimeout" | "sweep" | "maxQueued" | "drainTimeout">
  readonly bodyTimeout: Duration.Duration
  readonly video: Pick<VideoSettings, "firstPause" | "longestPause" | "reattach">
  /** How long records are kept that are needed for a limited time only. */
  readonly retention: Pick<RetentionSettings, "logs" | "followUps" | "deadFollowUps" | "learnedRuns">
  /** What each owner may use. */
  readonly limits: Quota
  /** Wrong keys of one address per minute before it is refused. */
  readonly failedKeys: number
  /** Where to find the client's address: `connection`, or a header that a proxy sets; null: it is not used. */
  readonly clientAddress: string
  /** Vendors with a key or an address, by the prefix of their variables. */
  readonly vendors: ReadonlyMap<Vendor, VendorSettings>
  /** The web search engine; null: only models with a search of their own can search. */
  readonly search: { readonly vendor: SearchVendor; readonly settings: VendorSettings } | null
  /** True: the program espeak-ng is on the path. It speaks if no vendor does. */
  readonly hasEspeak: boolean
  /** Servers whose tools are offered to models. */
  readonly mcpServers: ReadonlyArray<Mcp.McpServer>
  /** The reranker of Memory Pro; null: the assistant's own model. */
  readonly reranking: { readonly vendor: RerankVendor; readonly model: string | null } | null
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
  /** Whether a model summarises each document. */
  readonly summarizesDocuments: boolean
  /** The public address of the server, without the base path; null: the address on which it listens. */
  readonly publicUrl: string | null
  /** The key that signs addresses of files; null: one that is made and stored. */
  /** The first signs; addresses that any of them has signed are good. Null: one is made and kept. */
  readonly signingKey: ReadonlyArray<Redacted.Redacted<string>> | null
  /** The minimum time for which such an address is valid. */
  readonly mediaUrls: Duration.Duration
  /** The settings of the vendors with voices. */
  readonly realtime: { readonly [Name in RealtimeVendor]: RealtimeSettings }
  /** The prices of their models, by the models' names. */
  readonly voicePrices: VoicePriceLists
}

export const vendors = [
  "OPENAI",
  "ANTHROPIC",
  "GEMINI",
  "OPENROUTER",
  "GROQ",
  "DEEPSEEK",
  "XAI",
  "TOGETHER",
  "OLLAMA",
  "VLLM",
  "LMSTUDIO",
  "TYPEDPROVIDER",
  "COHERE",
  "VOYAGE",
  "JINA",
  "ELEVENLABS",
  "DEEPGRAM"
] as const
export type Vendor = (typeof vendors)[number]

const searchVendors = ["TAVILY", "EXA", "BRAVE", "SEARXNG"] as const
export type SearchVendor = (typeof searchVendors)[number]

/** The vendors with a reranker. */
const rerankVendors = ["COHERE", "VOYAGE", "JINA"] as const
export type RerankVendor = (typeof rerankVendors)[number]

export interface VendorSettings {
  readonly apiKey?: Redacted.Redacted<string>
  readonly baseUrl?: string
}

export type RealtimeVendor = "OPENAI" | "GEMINI" | "XAI"

export interface RealtimeSettings {
  /** The whole address; null: the vendor's own. */
  readonly url: string | null
  /** Empty: the usual ones. */
  readonly models: ReadonlyArray<string>
}

export class SettingsRefused extends Data.TaggedError("SettingsRefused")<{ readonly problems: ReadonlyArray<string> }> {
  override get message() {
    return `The environment is not right:\n${this.problems.map((problem) => `  - ${problem}`).join("\n")}`
  }
}

/**
 * Reads all variables, and fails with every problem found. An empty variable counts as not set, except that an empty BASE_PATH is the root.
 */
export const readSettings = (env: Environment): Effect.Effect<Settings, SettingsRefused> =>
  Effect.gen(function* () {
    const environment = ConfigProvider.fromEnvRecord(env["BASE_PATH"] === "" ? { ...env, BASE_PATH: "/" } : env)
    const problems: Array<string> = []
    /** Returns the fallback for a variable that is not set, and also for an invalid one after recording the problem. */
    const read = <A, B>(name: string, wants: string, schema: Schema.Codec<A, string>, fallback: B) =>
      Config.schema(schema, name).pipe(
        Config.withDefault(fallback),
        (config) => config.parse(environment),
        Effect.catch(() => {
          problems.push(`${name} must be ${wants}`)
          return Effect.succeed(fallback)
        })
      )
    const seconds = (name: string, least: number, fallback: number) =>
      Effect.map(
        read(name, `a number of seconds from ${least} to 3600`, numberBetween(least, 3600), fallback),
        Duration.seconds
      )
    const days = (name: string, fallback: number | null) =>
      Effect.map(read(name, "a number of days from 1 to 36500", numberBetween(1, 36_500), fallback), (number) =>
        number === null ? null : Duration.days(number)
      )
    const vendorOf = Effect.fnUntraced(function* (vendor: Vendor | SearchVendor) {
      const apiKey = yield* read(`${vendor}_API_KEY`, "a key, without spaces", Secret, null)
      const baseUrl = yield* read(
        `${vendor}_BASE_URL`,
        "an address that begins with http:// or https://",
        HttpUrl,
        null
      )
      if (apiKey === null && baseUrl === null) return null
      const found: VendorSettings = {
        ...(apiKey && { apiKey: Redacted.make(apiKey) }),
        ...(baseUrl && { baseUrl: trimmed(baseUrl) })
      }
      return found
    })
    const given = new Map<Vendor, VendorSettings>()
    for (const vendor of vendors) {
      const found = yield* vendorOf(vendor)
      if (found !== null) given.set(vendor, found)
    }
    const wantedEngine = yield* read(
      "WEB_SEARCH_PROVIDER",
      "tavily, exa, brave or searxng",
      Schema.Literals(["tavily", "exa", "brave", "searxng"]),
      null
    )
    const engines: Array<NonNullable<Settings["search"]>> = []
    for (const vendor of searchVendors) {
      const found = yield* vendorOf(vendor)
      const isWanted = wantedEngine === null || vendor.toLowerCase() === wantedEngine
      if (found !== null && isWanted) engines.push({ vendor, settings: found })
    }
    const voicesOf = Effect.fnUntraced(function* (vendor: RealtimeVendor) {
      const address = "an address that begins with ws:// or wss://"
      const url = yield* read(`${vendor}_REALTIME_URL`, address, SocketUrl, null)
      const names = yield* read(`${vendor}_REALTIME_MODELS`, "names of models, with commas between them", NameList, "")
      return { url, models: names.split(",").flatMap((name) => name.trim() || []) }
    })
    const pricesOf = <Prices>(
      vendor: RealtimeVendor,
      names: string,
      list: Schema.Codec<Prices, string>,
      none: Prices
    ) => read(`${vendor}_REALTIME_PRICES`, `JSON such as {"the-model": {${names}}}`, list, none)
    const tokenNames = '"text_input": 4, "audio_input": 32, "text_output": 16, "audio_output": 64'
    const voicePrices: VoicePriceLists = {
      OPENAI: yield* pricesOf("OPENAI", `${tokenNames}, "cached_input": 0.4`, VoicePriceLists.OPENAI, {}),
      GEMINI: yield* pricesOf("GEMINI", tokenNames, VoicePriceLists.GEMINI, {}),
      XAI: yield* pricesOf("XAI", '"minute": 0.05', VoicePriceLists.XAI, {})
    }
    const rerankVendor = yield* read(
      "RERANK_PROVIDER",
      "cohere, voyage or jina",
      Schema.Literals(["cohere", "voyage", "jina"]),
      null
    )
    const rerankModel = yield* read("RERANK_MODEL", "the name of a model", Word, null)
    const embeddingProvider = yield* read("DEFAULT_EMBEDDING_PROVIDER", "the id of a provider", Word, null)
    const embeddingModel = yield* read("DEFAULT_EMBEDDING_MODEL", "the name of a model", Word, null)
    const dimensions = yield* read(
      "DEFAULT_EMBEDDING_DIMENSIONS",
      "a number from 1 to 16000",
      numberBetween(1, 16_000),
      null
    )
    const keeps = yield* read(
      "COLLOQUY_BLOBS",
      '"database", a folder, or an address such as s3://bucket/prefix',
      BlobPlace,
      "database"
    )
    const s3 = {
      accessKeyId: yield* read("AWS_ACCESS_KEY_ID", "an id, without spaces", Word, null),
      secretAccessKey: yield* read("AWS_SECRET_ACCESS_KEY", "a key, without spaces", Secret, null),
      sessionToken: yield* read("AWS_SESSION_TOKEN", "a token, without spaces", Secret, null),
      region: yield* read("AWS_REGION", "the name of a region", Word, null),
      endpoint: yield* read("S3_ENDPOINT", "an address that begins with http:// or https://", HttpUrl, null)
    }
    const blobs = blobSettings(keeps, s3)
    if (blobs === "incomplete") {
      problems.push("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set when COLLOQUY_BLOBS names a bucket")
    }
    const signingKey = yield* read("COLLOQUY_SIGNING_KEY", signingForm, LongSecrets, null)
    const limits = readLimits(env["LIMITS"] ?? "")
    if (Option.isNone(limits)) problems.push(`LIMITS must be ${limitsForm}`)
    const mcpText = env["MCP_SERVERS"] ?? ""
    const mcpServers = mcpText === "" ? Option.some([]) : readMcpServers(mcpText)
    if (Option.isNone(mcpServers)) problems.push(`MCP_SERVERS must be ${mcpForm}`)
    const databaseUrl = yield* read("DATABASE_URL", "an address that begins with postgres://", PostgresUrl, null)
    const pairs = yield* read("COLLOQUY_API_KEYS", keyForm, KeyPairs, "")
    const settings: Settings = {
      host: yield* read("HOST", "the name or number of an address", Word, "127.0.0.1"),
      port: yield* read("PORT", "a number from 0 to 65535; 0 takes a free port", numberBetween(0, 65535), 8787),
      basePath: trimmed(
        yield* read("BASE_PATH", 'a path such as "/api", without a slash at its end', BasePath, "/api")
      ),
      databaseUrl: databaseUrl === null ? null : Redacted.make(databaseUrl),
      dataDir: yield* read("COLLOQUY_DATA_DIR", 'a folder, or "memory://"', DataDir, "./.colloquy"),
      apiKeys: pairs.split(",").flatMap(toPair),
      defaultProvider: yield* read("DEFAULT_LLM_PROVIDER", "the id of a provider", Word, null),
      defaultModel: yield* read("DEFAULT_MODEL_NAME", "the name of a model", Word, null),
      turns: {
        lease: yield* seconds("RUN_LEASE_SECONDS", 3, 30),
        queueTimeout: yield* seconds("QUEUE_TIMEOUT_SECONDS", 1, 30),
        sweep: yield* seconds("SWEEP_SECONDS", 1, 15),
        drainTimeout: yield* seconds("DRAIN_SECONDS", 0, 20),
        maxQueued: yield* read("MAX_QUEUED", "a number from 0 to 1000", numberBetween(0, 1000), 32)
      },
      bodyTimeout: yield* seconds("BODY_TIMEOUT_SECONDS", 1, 30),
      video: {
        ...paceOf(yield* seconds("VIDEO_POLL_SECONDS", 1, 5)),
        reattach: (yield* read("VIDEO_REATTACH", "true or false", BooleanWord, "false")) === "true"
      },
      retention: {
        logs: yield* days("RETENTION_LOG_DAYS", null),
        followUps: yield* days("RETENTION_FOLLOW_UP_DAYS", 30),
        deadFollowUps: yield* days("RETENTION_DEAD_FOLLOW_UP_DAYS", null),
        learnedRuns: yield* days("RETENTION_LEARNED_DAYS", null)
      },
      limits: Option.getOrElse(limits, () => noQuota),
      failedKeys: yield* read("FAILED_KEYS_PER_MINUTE", "a number from 1 to 10000", numberBetween(1, 10_000), 20),
      clientAddress: yield* read(
        "CLIENT_ADDRESS",
        '"connection", "none", or the name of a header',
        HeaderName,
        "connection"
      ),
      hasEspeak: isOnPath("espeak-ng", env["PATH"] ?? ""),
      vendors: given,
      blobs: blobs === "incomplete" ? null : blobs,
      attachmentWait: yield* seconds("ATTACHMENT_WAIT_SECONDS", 0, 30),
      summarizesDocuments: (yield* read("DOCUMENT_SUMMARIES", "true or false", BooleanWord, "false")) === "true",
      publicUrl: yield* read(
        "PUBLIC_URL",
        "an origin such as https://ai.example, without a path",
        Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s/?#]+\/?$/u)),
        null
      ),
      signingKey: signingKey === null ? null : signingKey.split(",").map((key) => Redacted.make(key)),
      mediaUrls: Duration.seconds(
        yield* read("MEDIA_URL_SECONDS", "a number of seconds from 60 to 604800", numberBetween(60, 604_800), 86_400)
      ),
      mcpServers: Option.getOrElse(mcpServers, () => []),
      search: engines[0] ?? null,
      reranking: rerankingOf(given, rerankVendor, rerankModel),
      embedding: embeddingProvider === null ? null : { provider: embeddingProvider, model: embeddingModel, dimensions },
      realtime: { OPENAI: yield* voicesOf("OPENAI"), GEMINI: yield* voicesOf("GEMINI"), XAI: yield* voicesOf("XAI") },
      voicePrices
    }
    if (settings.defaultProvider !== null && settings.defaultModel === null) {
      problems.push("DEFAULT_MODEL_NAME must be set when DEFAULT_LLM_PROVIDER is")
    }
    if (settings.search === null && wantedEngine !== null) {
      const name = wantedEngine.toUpperCase()
      problems.push(`${name}_API_KEY or ${name}_BASE_URL must be set when WEB_SEARCH_PROVIDER is`)
    }
    if (settings.search?.vendor === "SEARXNG" && settings.search.settings.baseUrl === undefined) {
      problems.push("SEARXNG_BASE_URL must be set, because it is a server of your own")
    }
    if (settings.reranking === null && (rerankVendor ?? rerankModel) !== null) {
      const name = rerankVendor?.toUpperCase() ?? "COHERE, VOYAGE or JINA"
      problems.push(`${name}_API_KEY or ${name}_BASE_URL must be set when RERANK_PROVIDER or RERANK_MODEL is`)
    }
    if (settings.embedding === null && (embeddingModel ?? dimensions) !== null) {
      problems.push(
        "DEFAULT_EMBEDDING_PROVIDER must be set when DEFAULT_EMBEDDING_MODEL or DEFAULT_EMBEDDING_DIMENSIONS is"
      )
    }
    return problems.length === 0 ? settings : yield* new SettingsRefused({ problems })
  })

interface S3Environment {
  readonly accessKeyId: string | null
  readonly secretAccessKey: string | null
  readonly sessionToken: string | null
  readonly region: string | null
  readonly endpoint: string | null
}

const blobSettings = (place: string, s3: S3Environment): BlobSettings | "incomplete" | null => {
  if (place === "database") return null
  if (!place.startsWith("s3://")) return { _tag: "Folder", folder: place }
  const { accessKeyId, endpoint, region, secretAccessKey, sessionToken } = s3
  if (accessKeyId === null || secretAccessKey === null) return "incomplete"
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

/** The reranker that is named, otherwise the first that is set. */
const rerankingOf = (
  given: ReadonlyMap<Vendor, VendorSettings>,
  named: string | null,
  model: string | null
): Settings["reranking"] => {
  const vendor = rerankVendors.find((each) => given.has(each) && (named === null || each.toLowerCase() === named))
  return vendor === undefined ? null : { vendor, model }
}

/** The setting is the first pause; later pauses grow. */
const paceOf = (firstPause: Duration.Duration) => ({
  firstPause,
  longestPause: Duration.max(firstPause, Duration.fromInputUnsafe(defaultVideoSettings.longestPause))
})

const BooleanWord = Schema.Literals(["true", "false"])
const Word = Schema.String.check(Schema.isPattern(/^\S+$/u))
const Secret = Word
const signingForm = "at least 16 characters, without spaces; several keys have commas between them"
const LongSecrets = Schema.String.check(Schema.isPattern(/^[^\s,]{16,}(,[^\s,]{16,})*$/u))
const BlobPlace = Schema.String.check(Schema.isPattern(/^(s3:\/\/[^\s/]+(\/\S*)?|(?!\w+:\/\/).+)$/u))
const HeaderName = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9-]+$/u))
const HttpUrl = Schema.String.check(Schema.isPattern(/^https?:\/\/[^\s/]\S*$/u))
const SocketUrl = Schema.String.check(Schema.isPattern(/^wss?:\/\/[^\s/]\S*$/u))
const NameList = Schema.String.check(Schema.isPattern(/^\s*[^,\s]+(\s*,\s*[^,\s]+)*\s*$/u))
const PostgresUrl = Schema.String.check(Schema.isPattern(/^postgres(ql)?:\/\/\S+$/u))
const BasePath = Schema.String.check(Schema.isPattern(/^(\/|(\/[A-Za-z0-9._~-]+)*)$/u))
const DataDir = Schema.String.check(Schema.isPattern(/^(memory:\/\/|(?!\w+:\/\/).+)$/u))
const numberBetween = (minimum: number, maximum: number) =>
  Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum, maximum }))
/** A shorter key can be guessed. */
const keyForm = "pairs key=user, with commas between them, and each key must have at least 16 characters"
const KeyPairs = Schema.String.check(Schema.isPattern(/^(\s*[^=,\s]{16,}=[^=,\s]+\s*(,|$))*$/u))

const trimmed = (url: string): string => url.replace(/\/+$/, "")

const toPair = (pair: string): Settings["apiKeys"] => {
  const [key, ownerId] = pair.trim().split("=")
  return key && ownerId ? [{ key: Redacted.make(key), ownerId }] : []
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

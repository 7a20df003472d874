/**
 * The variables of the environment in one table: their names, their defaults and units, what they must be, and what they are for. The
 * server reads its settings by it, and `docs/settings.md` is made from it.
 */
import type { OnlineSettings } from "@colloquy/core/wings"
import { defaultQuota, limitsForm, readLimits } from "./Limits.ts"
import { mcpForm, type NamedServer, readMcpServers } from "./McpServers.ts"
import { onlineForm, readOnlineScoring } from "./OnlineScoring.ts"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type NamedVoices, readVoiceParts, voicePartsForm } from "./VoiceParts.ts"
import { isAddress } from "./Addresses.ts"
import { VoicePriceLists } from "./VoicePriceSettings.ts"

export interface Variable<A> {
  readonly name: string
  /** None: the text is no value. Its reason is not told, because the value may be a key. */
  readonly decode: (text: string) => Option.Option<A>
  /** The value of a variable that is not set. */
  readonly fallback: A
  /** What the value must be: "PORT must be a number from 0 to 65535". */
  readonly wants: string
  /** The unit of a number. */
  readonly unit: string | null
  /** The default in words, where the value itself does not tell it. */
  readonly usual: string | null
  /** What it is for, in Markdown. */
  readonly about: string
}

type Words = Pick<Variable<unknown>, "about"> & Partial<Pick<Variable<unknown>, "unit" | "usual">>

const variable = <A, F>(
  name: string,
  decode: (text: string) => Option.Option<A>,
  wants: string,
  fallback: F,
  words: Words
): Variable<A | F> => ({ name, decode, wants, fallback, unit: null, usual: null, ...words })

const text = <F extends string | null>(name: string, form: RegExp, wants: string, fallback: F, words: Words) =>
  variable(
    name,
    Option.liftPredicate((given: string) => form.test(given)),
    wants,
    fallback,
    words
  )

/** A form that only looks like an address is refused too: `http://host:99999`. */
const address = <F extends string | null>(name: string, form: RegExp, wants: string, fallback: F, words: Words) =>
  variable(name, Option.liftPredicate(isAddress(form)), wants, fallback, words)

interface Range<F> {
  readonly least: number
  readonly most: number
  readonly usual: F
  readonly unit?: string
}

const number = <F extends number | null>(name: string, range: Range<F>, about: string, usual: string | null = null) => {
  const { least: minimum, most: maximum, unit = null } = range
  const schema = Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum, maximum }))
  const wants = `a number ${unit === null ? "" : `of ${unit} `}from ${minimum} to ${maximum}`
  return variable(name, Schema.decodeOption(schema), wants, range.usual, { about, usual, unit })
}

const seconds = (name: string, least: number, usual: number, about: string) =>
  number(name, { least, most: 3600, usual, unit: "seconds" }, about)

const days = (name: string, usual: number | null, about: string) =>
  number(name, { least: 1, most: 36_500, usual, unit: "days" }, about, usual === null ? "for ever" : null)

const logLevels = ["Debug", "Info", "Warn", "Error", "None"] as const

const flag = (name: string, about: string, usual = false) =>
  variable(
    name,
    (given) => (given === "true" || given === "false" ? Option.some(given === "true") : Option.none()),
    "true or false",
    usual,
    { about }
  )

const oneAmong = <const Names extends ReadonlyArray<string>>(name: string, names: Names, words: Words) =>
  variable(
    name,
    Schema.decodeUnknownOption(Schema.Literals(names)),
    `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`,
    null,
    words
  )

const word = /^\S+$/u
const httpUrl = /^https?:\/\/[^\s/]\S*$/u
const httpForm = "a valid address that begins with http:// or https://"

const mcpServers: Variable<ReadonlyArray<NamedServer>> = variable("MCP_SERVERS", readMcpServers, mcpForm, [], {
  usual: "none",
  about:
    "servers of [MCP](tools.md#tools-of-mcp-servers) whose tools models may call: a JSON object, or the path of a file with one ([its form](standalone-server.md#tools-of-mcp-servers))"
})

const voiceParts: Variable<NamedVoices> = variable(
  "VOICE_PARTS",
  readVoiceParts,
  voicePartsForm,
  {},
  {
    usual: "none",
    about:
      "voices [from parts](realtime.md#a-voice-from-parts), which sessions name as provider `parts`: a JSON object, or the path of a file with one ([its form](standalone-server.md#a-voice-from-parts))"
  }
)

const noScoring: OnlineSettings = { share: 0, expectations: [] }
const onlineScoring = variable("ONLINE_SCORING", readOnlineScoring, onlineForm, noScoring, {
  usual: "none",
  about:
    'which share of turns is scored when they have ended, and by what: `{"share": 0.01, "expectations": […]}`, or the path of a file with it ([online scoring](evals.md#online-scoring)). Judges cost what their model costs'
})

export const variables = {
  host: text("HOST", word, "the name or number of an address", "127.0.0.1", {
    about: "the address to listen on; `0.0.0.0` for all"
  }),
  port: number("PORT", { least: 0, most: 65_535, usual: 8787 }, "`0` takes a free one"),
  basePath: text(
    "BASE_PATH",
    /^(\/|(\/[A-Za-z0-9._~-]+)*)$/u,
    'a path such as "/api", without a slash at its end',
    "/api",
    {
      about: "where the API begins; empty for the root. [OpenAI's clients](openai.md) find theirs at `/v1` in any case"
    }
  ),
  databaseUrl: text("DATABASE_URL", /^postgres(ql)?:\/\/\S+$/u, "an address that begins with postgres://", null, {
    usual: "an embedded database",
    about: "a PostgreSQL server (`postgres://…`) instead of the embedded database"
  }),
  dataDir: text("COLLOQUY_DATA_DIR", /^(memory:\/\/|(?!\w+:\/\/).+)$/u, 'a folder, or "memory://"', "./.colloquy", {
    about: "the folder of the embedded database; `memory://` keeps nothing"
  }),
  apiKeys: text(
    "COLLOQUY_API_KEYS",
    // A shorter key can be guessed.
    /^(\s*[^=,\s]{16,}=[^=,\s]+\s*(,|$))*$/u,
    "pairs key=user, with commas between them, and each key must have at least 16 characters",
    "",
    {
      usual: "one that is made at the first start",
      about: "keys of your choice and their users: `key=user,key=user`; each key has at least 16 characters"
    }
  ),
  defaultProvider: text("DEFAULT_LLM_PROVIDER", word, "the id of a provider", null, {
    usual: "the first that is set",
    about: "the provider of `DEFAULT_MODEL_NAME`"
  }),
  defaultModel: text("DEFAULT_MODEL_NAME", word, "the name of a model", null, {
    usual: "the demo model",
    about: "which model answers when neither assistant nor message names one"
  }),
  mcpServers,
  voiceParts,
  voiceFallback: text("VOICE_FALLBACK", word, "the name of a voice of VOICE_PARTS", null, {
    usual: "none",
    about: "the voice of `VOICE_PARTS` with which a session goes on when the vendor of its own voice fails"
  }),
  onlineScoring,
  searchProvider: oneAmong("WEB_SEARCH_PROVIDER", ["tavily", "exa", "brave", "searxng"], {
    usual: "the first of those four that is set",
    about: "the engine of the [web search](web-search.md); without any, only models that search by themselves can"
  }),
  rerankProvider: oneAmong("RERANK_PROVIDER", ["cohere", "voyage", "jina"], {
    usual: "the first of those three that is set",
    about: "who reranks for [Memory Pro](memory.md); without any, the assistant's own model does"
  }),
  rerankModel: text("RERANK_MODEL", word, "the name of a model", null, {
    usual: "the provider's usual one",
    about: "which model reranks"
  }),
  embeddingProvider: text("DEFAULT_EMBEDDING_PROVIDER", word, "the id of a provider", null, {
    usual: "the first of `openai` and `gemini` that is set",
    about: "who embeds for new assistants; without any, memories are found by their words"
  }),
  embeddingModel: text("DEFAULT_EMBEDDING_MODEL", word, "the name of a model", null, {
    usual: "the usual one of `openai` or `gemini`",
    about: "the embedding model of new assistants; it must be set for other providers"
  }),
  embeddingDimensions: number(
    "DEFAULT_EMBEDDING_DIMENSIONS",
    { least: 1, most: 16_000, usual: null },
    "the length of its vectors",
    "the model's usual one, or 3072 if that is not known"
  ),
  blobs: text(
    "COLLOQUY_BLOBS",
    /^(s3:\/\/[^\s/]+(\/\S*)?|(?!\w+:\/\/).+)$/u,
    '"database", a folder, or an address such as s3://bucket/prefix',
    "database",
    {
      about:
        "where the bytes of [files](documents.md) are stored: `database`, the path of a folder, or `s3://bucket/prefix`"
    }
  ),
  s3KeyId: text("AWS_ACCESS_KEY_ID", word, "an id, without spaces", null, { about: "for `s3://`: who signs in" }),
  s3Secret: text("AWS_SECRET_ACCESS_KEY", word, "a key, without spaces", null, { about: "for `s3://`: the key" }),
  s3Session: text("AWS_SESSION_TOKEN", word, "a token, without spaces", null, {
    about: "for `s3://`: the token of a session"
  }),
  s3Region: text("AWS_REGION", word, "the name of a region", null, { about: "for `s3://`: the region" }),
  s3Endpoint: address("S3_ENDPOINT", httpUrl, httpForm, null, {
    usual: "Amazon's",
    about: "for `s3://`: the address of another service"
  }),
  attachmentWait: seconds(
    "ATTACHMENT_WAIT_SECONDS",
    0,
    30,
    "how long a message waits until the files that came with it are indexed"
  ),
  reranksDocuments: flag(
    "RERANK_DOCUMENTS",
    "`true`: the reranker also orders what is found in documents; one call for each message with documents"
  ),
  summarizesThreads: flag(
    "THREAD_SUMMARIES",
    "`true`: what soon no longer fits into the window of a conversation's model is summarised by it, and the [summary](conversations.md#summaries) goes with the conversation; a call for each eighth of the window, on such threads only",
    true
  ),
  summarizesDocuments: flag(
    "DOCUMENT_SUMMARIES",
    "`true`: the assistant's model writes a summary of each document, which typed answers get; one model call for each document"
  ),
  logLevel: variable(
    "LOG_LEVEL",
    (given) => Option.fromUndefinedOr(logLevels.find((level) => level.toLowerCase() === given.toLowerCase())),
    "one of debug, info, warn, error and none",
    "Info" as const,
    {
      usual: "`info`",
      about:
        "what the server prints while it runs: `info` has one line for each turn; `warn`, `error` and `none` have none"
    }
  ),
  webhookPrivateAddresses: flag(
    "WEBHOOK_PRIVATE_ADDRESSES",
    "`true`: [webhooks](background.md#webhooks) may be sent to addresses of private networks and of this machine"
  ),
  publicUrl: address(
    "PUBLIC_URL",
    /^https?:\/\/[^\s/?#]+\/?$/u,
    "an origin such as https://ai.example, without a path",
    null,
    {
      usual: "the address on which the server listens",
      about: "an origin such as `https://ai.example` with which addresses of files begin"
    }
  ),
  signingKey: text(
    "COLLOQUY_SIGNING_KEY",
    /^[^\s,]{16,}(,[^\s,]{16,})*$/u,
    "at least 16 characters, without spaces; several keys have commas between them",
    null,
    {
      usual: "made once and kept, in the database of `DATABASE_URL` or in the data folder",
      about:
        "signs addresses of files, and encrypts secrets of webhooks and tokens for MCP servers; all processes of a service need the same one. With commas several: the first signs, addresses of all of them are good; take one away, and the addresses that it signed end at once"
    }
  ),
  mediaUrls: number(
    "MEDIA_URL_SECONDS",
    { least: 60, most: 604_800, usual: 86_400, unit: "seconds" },
    "how long an address of a file in an answer is valid, at least"
  ),
  lease: seconds("RUN_LEASE_SECONDS", 3, 30, "how long a process that dies leaves its threads blocked"),
  queueTimeout: seconds(
    "QUEUE_TIMEOUT_SECONDS",
    1,
    30,
    "how long a message waits for its thread before it is refused with 409"
  ),
  maxQueued: number(
    "MAX_QUEUED",
    { least: 0, most: 1000, usual: 32 },
    "how many messages may wait on one thread; one more is refused with 409"
  ),
  sweep: seconds(
    "SWEEP_SECONDS",
    1,
    5,
    "how often runs of dead processes are looked for; at the start they always are"
  ),
  approvals: number(
    "APPROVAL_SECONDS",
    { least: 1, most: 31_536_000, usual: null, unit: "seconds" },
    "how long a call waits for its [approval](approvals.md) before it is rejected as expired",
    "for ever"
  ),
  drainTimeout: seconds("DRAIN_SECONDS", 0, 20, "how long running turns may go on after SIGTERM"),
  keptLogs: days(
    "RETENTION_LOG_DAYS",
    null,
    "how long the logs of ended runs are kept ([operations](operations.md#retention))"
  ),
  keptFollowUps: days("RETENTION_FOLLOW_UP_DAYS", 30, "the same for follow-ups that are done"),
  keptDeadFollowUps: days("RETENTION_DEAD_FOLLOW_UP_DAYS", null, "the same for follow-ups that failed for good"),
  keptLearnedRuns: days("RETENTION_LEARNED_DAYS", null, "the same for records of which memories a run changed"),
  videoPoll: seconds(
    "VIDEO_POLL_SECONDS",
    1,
    5,
    "the first pause before the job of a [video](video.md) is checked again; later pauses are longer, and the provider's `Retry-After` is respected"
  ),
  videoReattach: flag("VIDEO_REATTACH", "`true`: video jobs continue when their turn has ended before them"),
  bodyTimeout: seconds("BODY_TIMEOUT_SECONDS", 1, 30, "how long a client may take to send the body of a request"),
  streams: number(
    "STREAMS",
    { least: 1, most: 100_000, usual: 12_000 },
    "how many streams of events a process carries at once; one more is a 503. An owner may have as many as are left for all others"
  ),
  clientAddress: text(
    "CLIENT_ADDRESS",
    /^[A-Za-z0-9-]+$/u,
    '"connection", "none", or the name of a header',
    "connection",
    {
      about:
        "where the server reads the address of a client, by which it counts wrong keys: `connection`, a header that your proxy sets, such as `X-Forwarded-For` (its last address counts), or `none`. Behind a proxy name its header: with `connection` all clients have the address of the proxy, and the wrong keys of one are counted against all"
    }
  ),
  failedKeys: number(
    "FAILED_KEYS_PER_MINUTE",
    { least: 1, most: 10_000, usual: 20 },
    "how many wrong keys an address may send, to the API and the realtime socket together, before its requests get 429; keys of `COLLOQUY_API_KEYS` go on working"
  ),
  limits: variable("LIMITS", readLimits, limitsForm, defaultQuota, {
    usual: "see right",
    about:
      'what each owner may use: `off`, or JSON over the defaults `{"requests_per_minute": 600, "turns_per_minute": 60, "turns_at_once": 16, "bytes": 5000000000, "documents": 10000, "memories": 100000, "sessions_at_once": 8, "tokens_per_day": null, "usd_per_day": null, "tokens_per_day_of_assistant": null, "usd_per_day_of_assistant": null, "tokens_per_run": null, "usd_per_run": null, "assumed_prices": {"input": 3, "output": 15, "embedding": 0.2}}`; null is no limit. `GET /owners/me/usage` shows what is used ([operations](operations.md#limits-of-an-owner))'
  })
}

/** The two variables that each vendor has, by the prefix of their names. */
export const vendorVariables = (prefix: string, about: string) => ({
  apiKey: text(`${prefix}_API_KEY`, word, "a key, without spaces", null, { about }),
  baseUrl: address(`${prefix}_BASE_URL`, httpUrl, httpForm, null, {
    usual: "the vendor's own",
    about: "another address of it"
  })
})

export type RealtimeVendor = "OPENAI" | "GEMINI" | "XAI"

const tokenNames = '"text_input": 4, "audio_input": 32, "text_output": 16, "audio_output": 64'
const prices = <Prices>(vendor: RealtimeVendor, schema: Schema.Codec<Prices, string>, none: Prices, form: string) =>
  variable(
    `${vendor}_REALTIME_PRICES`,
    Schema.decodeUnknownOption(schema),
    `JSON such as {"the-model": {${form}}}`,
    none,
    {
      usual: "costs are unknown",
      about: `what voice costs in US dollars, by the names of the models: \`{"the-model": {${form}}}\`, of a million tokens${vendor === "XAI" ? " or of a minute" : ""}. The catalogue shows it in \`realtime_capabilities.prices\``
    }
  )

/** The prices of voice models by their names: vendors charge for different things. */
export const priceVariables = {
  OPENAI: prices("OPENAI", VoicePriceLists.OPENAI, {}, `${tokenNames}, "cached_input": 0.4`),
  GEMINI: prices("GEMINI", VoicePriceLists.GEMINI, {}, tokenNames),
  XAI: prices("XAI", VoicePriceLists.XAI, {}, '"minute": 0.05')
}

/** Where a vendor's voice sessions are, and with which models. */
export const realtimeVariables = (vendor: RealtimeVendor) => ({
  url: address(
    `${vendor}_REALTIME_URL`,
    /^wss?:\/\/[^\s/]\S*$/u,
    "a valid address that begins with ws:// or wss://",
    null,
    {
      usual: "the vendor's own",
      about: "the address of its [voice sessions](realtime.md) (`ws://` or `wss://`)"
    }
  ),
  models: text(
    `${vendor}_REALTIME_MODELS`,
    /^\s*[^,\s]+(\s*,\s*[^,\s]+)*\s*$/u,
    "names of models, with commas between them",
    "",
    { usual: "its usual ones", about: "the names of its voice models, with commas between them" }
  )
})

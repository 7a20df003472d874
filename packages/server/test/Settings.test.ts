import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { readSettings } from "../src/Settings.ts"

describe("the environment of the standalone server", () => {
  it.effect("needs nothing to be set", () =>
    Effect.gen(function* () {
      const settings = yield* readSettings({})
      assert.deepStrictEqual([settings.host, settings.port, settings.basePath], ["127.0.0.1", 8787, "/api"])
      assert.deepStrictEqual([settings.databaseUrl, settings.dataDir, settings.apiKeys], [null, "./.colloquy", []])
      assert.strictEqual(settings.vendors.size, 0)
    })
  )

  it.effect("takes the pace of videos, and whether jobs are gone on with", () =>
    Effect.gen(function* () {
      const { video } = yield* readSettings({ VIDEO_POLL_SECONDS: "60", VIDEO_REATTACH: "true" })
      const seconds = [video.firstPause, video.longestPause].map((pause) => Duration.toSeconds(pause))
      assert.deepStrictEqual([...seconds, video.reattach], [60, 60, true])
      assert.isFalse((yield* readSettings({})).video.reattach)
      const refused = yield* Effect.flip(readSettings({ VIDEO_POLL_SECONDS: "0", VIDEO_REATTACH: "yes" }))
      assert.strictEqual(refused.problems.length, 2)
    })
  )

  it.effect("takes the prices of voice models, by their names", () =>
    Effect.gen(function* () {
      const tokens = { text_input: 4, audio_input: 32, text_output: 16, audio_output: 64 }
      const { voicePrices } = yield* readSettings({
        OPENAI_REALTIME_PRICES: JSON.stringify({ "gpt-realtime": { ...tokens, cached_input: 0.4, image_input: 5 } }),
        GEMINI_REALTIME_PRICES: JSON.stringify({ live: tokens }),
        XAI_REALTIME_PRICES: '{"grok-voice-latest": {"minute": 0.05}}'
      })
      assert.deepStrictEqual(voicePrices.XAI, { "grok-voice-latest": { minute: 0.05 } })
      assert.deepInclude(voicePrices.OPENAI["gpt-realtime"], { audioInput: 32, cachedInput: 0.4, imageInput: 5 })
      assert.deepInclude(voicePrices.GEMINI["live"], { audioOutput: 64 })
      const refused = yield* Effect.flip(
        readSettings({ OPENAI_REALTIME_PRICES: '{"gpt-realtime": {"audio_input": -1}}', XAI_REALTIME_PRICES: "0.05" })
      )
      assert.strictEqual(refused.problems.length, 2)
    })
  )

  it.effect("takes voices from parts, with their keys hidden, and none that is not of their form", () =>
    Effect.gen(function* () {
      const house = {
        hear: { provider: "openai", usd_per_minute: 0.006, live: { url: "ws://127.0.0.1/v1/realtime", api_key: "k" } },
        think: { provider: "demo" },
        speak: { url: "http://127.0.0.1/v1", model: "kokoro", voice: "af" }
      }
      const { voiceFallback, voiceParts } = yield* readSettings({
        VOICE_PARTS: JSON.stringify({ house }),
        VOICE_FALLBACK: "house"
      })
      assert.strictEqual(voiceFallback, "house")
      assert.deepInclude(voiceParts["house"]?.hear, { provider: "openai", usdPerMinute: 0.006 })
      assert.notInclude(JSON.stringify(voiceParts), '"k"')
      for (const wrong of [{ ...house, hear: {}, more: 1 }, { ...house, speak: { url: "ftp://secret" } }, "secret"]) {
        const refused = yield* Effect.flip(readSettings({ VOICE_PARTS: JSON.stringify({ house: wrong }) }))
        assert.strictEqual(refused.problems.length, 1)
        assert.notInclude(refused.message, "secret")
      }
      const refused = yield* Effect.flip(readSettings({ VOICE_FALLBACK: "house" }))
      assert.include(refused.message, "VOICE_PARTS")
    })
  )

  it.effect("is refused with every problem in one list, and without a value", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(
        readSettings({
          PORT: "99999",
          BASE_PATH: "api/",
          DATABASE_URL: "mysql://secret",
          COLLOQUY_API_KEYS: "secret",
          OPENAI_BASE_URL: "secret"
        })
      )
      assert.strictEqual(refused.problems.length, 5)
      for (const name of ["PORT", "BASE_PATH", "DATABASE_URL", "COLLOQUY_API_KEYS", "OPENAI_BASE_URL"]) {
        assert.include(refused.message, name)
      }
      assert.notInclude(refused.message, "secret")
    })
  )

  it.effect("is refused with addresses that only look like one, and with a key of two users", () =>
    Effect.gen(function* () {
      const bucket = { COLLOQUY_BLOBS: "s3://files", AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "key" }
      for (const [name, value] of Object.entries({
        OPENAI_BASE_URL: "http://localhost:99999",
        COHERE_BASE_URL: "https://[::1",
        XAI_REALTIME_URL: "ws://localhost:99999",
        S3_ENDPOINT: "http://localhost:99999",
        PUBLIC_URL: "https://ai.example:99999",
        MCP_SERVERS: '{"files": {"url": "http://localhost:99999"}}',
        VOICE_PARTS: '{"a": {"hear": {}, "think": {}, "speak": {"url": "http://localhost:99999", "model": "m"}}}',
        COLLOQUY_API_KEYS: "k1-0123456789abc=ada, k2-0123456789abc=ada, k1-0123456789abc=bob"
      })) {
        const refused = yield* Effect.flip(readSettings({ ...bucket, [name]: value }))
        assert.strictEqual(refused.problems.length, 1, name)
        assert.match(refused.problems[0] ?? "", new RegExp(`^${name} must `, "u"))
      }
      const keys = "k1-0123456789abc=ada, k1-0123456789abc=ada"
      assert.lengthOf((yield* readSettings({ COLLOQUY_API_KEYS: keys })).apiKeys, 2)
    })
  )

  it.effect("takes limits over the defaults, and refuses what is no limit with a sentence", () =>
    Effect.gen(function* () {
      const { limits } = yield* readSettings({ LIMITS: '{"turns_at_once": 2, "documents": null, "usd_per_day": 0.5}' })
      assert.deepStrictEqual([limits.turnsAtOnce, limits.documents, limits.usdPerDay], [2, null, 0.5])
      assert.deepStrictEqual([limits.requestsPerMinute, limits.turnsPerMinute, limits.bytes], [600, 60, 5e9])
      const { assumedPrices: _, ...off } = (yield* readSettings({ LIMITS: "off" })).limits
      assert.deepStrictEqual(new Set(Object.values(off)), new Set([null]))
      const priced = yield* readSettings({ LIMITS: '{"usd_per_day_of_assistant": 1, "assumed_prices": {"output": 0}}' })
      assert.deepStrictEqual(
        [priced.limits.usdPerDayOfAssistant, priced.limits.assumedPrices.outputCostPerMillionTokens],
        [1, 0]
      )
      for (const LIMITS of [
        "on",
        "{",
        "[]",
        "null",
        '{"turns": 1}',
        '{"turns_per_minute": 0}',
        '{"bytes": "1"}',
        '{"usd_per_day": -1}',
        '{"assumed_prices": {"input": null}}'
      ]) {
        const refused = yield* Effect.flip(readSettings({ LIMITS }))
        assert.strictEqual(refused.problems.length, 1, LIMITS)
        assert.match(refused.message, /LIMITS must be "off", or a JSON object/u)
      }
    })
  )

  it.effect("takes keys for several users, and vendors by key or address", () =>
    Effect.gen(function* () {
      const settings = yield* readSettings({
        COLLOQUY_API_KEYS: "k1-0123456789abc=ada, k2-0123456789abc=bob",
        OPENAI_API_KEY: "sk-1",
        OLLAMA_BASE_URL: "http://127.0.0.1:11434/v1/",
        PORT: "0"
      })
      assert.deepStrictEqual(
        settings.apiKeys.map(({ key, ownerId }) => [Redacted.value(key), ownerId]),
        [
          ["k1-0123456789abc", "ada"],
          ["k2-0123456789abc", "bob"]
        ]
      )
      assert.strictEqual(settings.port, 0)
      assert.deepStrictEqual([...settings.vendors.keys()], ["OPENAI", "OLLAMA"])
      assert.strictEqual(settings.vendors.get("OLLAMA")?.baseUrl, "http://127.0.0.1:11434/v1")
      assert.notInclude(JSON.stringify([...settings.vendors.values()]), "sk-1")
    })
  )

  it.effect("refuses keys that can be guessed, with a sentence and without the key", () =>
    Effect.gen(function* () {
      for (const keys of ["fifteen-letters=ada", "sixteen-letters-=ada,short=bob", "=ada"]) {
        const refused = yield* Effect.flip(readSettings({ COLLOQUY_API_KEYS: keys }))
        assert.match(refused.message, /COLLOQUY_API_KEYS must be .* at least 16 characters/u)
        assert.notMatch(refused.message, /letters|short/u)
      }
      assert.lengthOf((yield* readSettings({ COLLOQUY_API_KEYS: "sixteen-letters-=ada" })).apiKeys, 1)
    })
  )

  it.effect("takes an empty variable for one that is not set, and an empty base path for the root", () =>
    Effect.gen(function* () {
      const empty = { HOST: "", PORT: "", DATABASE_URL: "", COLLOQUY_DATA_DIR: "", COLLOQUY_API_KEYS: "" }
      const settings = yield* readSettings({ ...empty, BASE_PATH: "", OPENAI_API_KEY: "" })
      assert.deepStrictEqual(settings, { ...(yield* readSettings({})), basePath: "" })
    })
  )

  it.effect("keeps bytes in the database, a folder or a bucket, which needs its keys", () =>
    Effect.gen(function* () {
      const place = (environment: Record<string, string>) => Effect.map(readSettings(environment), ({ blobs }) => blobs)
      assert.isNull(yield* place({}))
      assert.isNull(yield* place({ COLLOQUY_BLOBS: "database" }))
      assert.deepStrictEqual(yield* place({ COLLOQUY_BLOBS: "./bytes" }), { _tag: "Folder", folder: "./bytes" })
      const keys = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "sk-1" }
      const bucket = yield* place({ ...keys, COLLOQUY_BLOBS: "s3://files/a/b/", S3_ENDPOINT: "http://127.0.0.1:9000/" })
      assert.deepInclude(bucket?._tag === "S3" ? bucket.options : {}, {
        bucket: "files",
        prefix: "a/b",
        endpoint: "http://127.0.0.1:9000"
      })
      assert.notInclude(JSON.stringify(bucket), "sk-1")
      const wrong = { COLLOQUY_BLOBS: "s3://files", PUBLIC_URL: "https://a.example/api", COLLOQUY_SIGNING_KEY: "short" }
      const refused = yield* Effect.flip(readSettings({ ...wrong, MEDIA_URL_SECONDS: "1" }))
      for (const name of ["COLLOQUY_BLOBS", "PUBLIC_URL", "COLLOQUY_SIGNING_KEY", "MEDIA_URL_SECONDS"]) {
        assert.include(refused.message, name)
      }
    })
  )

  it.effect("keeps logs for ever unless a number of days is set, and refuses less than one", () =>
    Effect.gen(function* () {
      const { retention } = yield* readSettings({})
      assert.deepStrictEqual(retention, {
        logs: null,
        followUps: Duration.days(30),
        deadFollowUps: null,
        learnedRuns: null
      })
      const set = yield* readSettings({
        RETENTION_LOG_DAYS: "90",
        RETENTION_DEAD_FOLLOW_UP_DAYS: "365",
        RETENTION_LEARNED_DAYS: "180"
      })
      assert.deepStrictEqual(set.retention.logs, Duration.days(90))
      assert.deepStrictEqual(set.retention.deadFollowUps, Duration.days(365))
      assert.deepStrictEqual(set.retention.learnedRuns, Duration.days(180))
      const refused = yield* Effect.flip(readSettings({ RETENTION_LOG_DAYS: "0", RETENTION_FOLLOW_UP_DAYS: "x" }))
      for (const name of ["RETENTION_LOG_DAYS", "RETENTION_FOLLOW_UP_DAYS"]) assert.include(refused.message, name)
    })
  )

  it.effect("takes what an operator may say of turns", () =>
    Effect.gen(function* () {
      const { turns } = yield* readSettings({
        RUN_LEASE_SECONDS: "10",
        QUEUE_TIMEOUT_SECONDS: "5",
        SWEEP_SECONDS: "2",
        DRAIN_SECONDS: "60",
        MAX_QUEUED: "3",
        APPROVAL_SECONDS: "86400"
      })
      assert.deepStrictEqual(turns, {
        approvalTimeout: Duration.days(1),
        lease: Duration.seconds(10),
        queueTimeout: Duration.seconds(5),
        sweep: Duration.seconds(2),
        drainTimeout: Duration.seconds(60),
        maxQueued: 3
      })
      const refused = yield* Effect.flip(
        readSettings({ RUN_LEASE_SECONDS: "0", SWEEP_SECONDS: "soon", MAX_QUEUED: "-1" })
      )
      assert.strictEqual(refused.problems.length, 3)
    })
  )

  it.effect("takes what an operator may say of clients", () =>
    Effect.gen(function* () {
      const settings = yield* readSettings({
        BODY_TIMEOUT_SECONDS: "5",
        CLIENT_ADDRESS: "X-Forwarded-For",
        FAILED_KEYS_PER_MINUTE: "3"
      })
      const { bodyTimeout, clientAddress, failedKeys } = settings
      assert.deepStrictEqual([bodyTimeout, clientAddress, failedKeys], [Duration.seconds(5), "X-Forwarded-For", 3])
      assert.strictEqual((yield* readSettings({})).clientAddress, "connection")
      const wrong = { BODY_TIMEOUT_SECONDS: "0", CLIENT_ADDRESS: "a, b", FAILED_KEYS_PER_MINUTE: "0" }
      assert.strictEqual((yield* Effect.flip(readSettings(wrong))).problems.length, 3)
    })
  )

  it.effect("takes who reranks: the one that is named, else the first that is set", () =>
    Effect.gen(function* () {
      const keys = { VOYAGE_API_KEY: "k", JINA_BASE_URL: "http://127.0.0.1:1" }
      assert.deepStrictEqual((yield* readSettings(keys)).reranking, { vendor: "VOYAGE", model: null })
      const named = yield* readSettings({ ...keys, RERANK_PROVIDER: "jina", RERANK_MODEL: "m" })
      assert.deepStrictEqual(named.reranking, { vendor: "JINA", model: "m" })
      assert.isNull((yield* readSettings({})).reranking)
      for (const wrong of [{ ...keys, RERANK_PROVIDER: "cohere" }, { RERANK_MODEL: "m" }, { RERANK_PROVIDER: "me" }]) {
        assert.strictEqual((yield* Effect.flip(readSettings(wrong))).problems.length, 1)
      }
    })
  )

  it.effect("takes what new assistants embed with", () =>
    Effect.gen(function* () {
      const settings = yield* readSettings({
        DEFAULT_EMBEDDING_PROVIDER: "openai",
        DEFAULT_EMBEDDING_DIMENSIONS: "256"
      })
      assert.deepStrictEqual(settings.embedding, { provider: "openai", model: null, dimensions: 256 })
      const refused = yield* Effect.flip(
        readSettings({ DEFAULT_EMBEDDING_MODEL: "m", DEFAULT_EMBEDDING_DIMENSIONS: "0" })
      )
      assert.strictEqual(refused.problems.length, 2)
    })
  )

  it.effect("wants a model beside a default provider", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(readSettings({ DEFAULT_LLM_PROVIDER: "openai" }))
      assert.include(refused.message, "DEFAULT_MODEL_NAME")
    })
  )
})

/** Looks at what a server needs, one line each: Node, the settings, the database, vectors, and what each provider answers. */
import { ChunkIndex } from "@colloquy/core/wings"
import type { Provider } from "@colloquy/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { arch, platform } from "node:os"
import { defaultProblem, makeProviders } from "../Services.ts"
import { readSettings, type Settings } from "../Settings.ts"
import { storeRefused } from "../StartRefused.ts"
import { inMemory, makeStores, prepareFolder } from "../Stores.ts"
import type { CommandRun } from "./Command.ts"
import { nodeProblem } from "./NodeVersion.ts"

interface Finding {
  readonly what: string
  /** Null: nothing to say for or against. */
  readonly ok: boolean | null
  readonly says: string
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const node = (): Finding => {
  const problem = nodeProblem(process.versions.node)
  return { what: "Node.js", ok: problem === null, says: problem ?? `${process.version} on ${platform()} ${arch()}` }
}

/** Opens the stores as the server would, and closes them again. */
const database = async (settings: Settings): Promise<ReadonlyArray<Finding>> => {
  const { databaseUrl, dataDir } = settings
  const where = databaseUrl !== null ? "PostgreSQL of DATABASE_URL" : dataDir === inMemory ? "in memory" : dataDir
  try {
    await prepareFolder(settings)
    const keepsVectors = await Effect.runPromise(
      ChunkIndex.use(({ keepsVectors: keeps }) => Effect.succeed(keeps)).pipe(Effect.provide(makeStores(settings)))
    )
    return [
      { what: "Database", ok: true, says: `${where}, with the schema of this version` },
      keepsVectors
        ? { what: "Vectors", ok: true, says: "pgvector is there: search by words and meaning" }
        : { what: "Vectors", ok: null, says: "no pgvector 0.7 or newer: search uses words only" }
    ]
  } catch (error) {
    return [{ what: "Database", ok: false, says: message(storeRefused(settings, error)) }]
  }
}

/** How long a provider may take to list its models. */
const patience = "15 seconds"

const provider = ({ id, listModels }: Provider): Effect.Effect<Finding> => {
  const what = `Provider ${id}`
  if (listModels === undefined) return Effect.succeed({ what, ok: null, says: "has no list of models to ask for" })
  return Effect.timed(Effect.result(Effect.timeoutOption(listModels, patience))).pipe(
    Effect.map(([duration, found]): Finding => {
      if (Result.isFailure(found)) return { what, ok: false, says: found.failure.message }
      if (Option.isNone(found.success)) return { what, ok: false, says: `did not answer within ${patience}` }
      return {
        what,
        ok: true,
        says: `${found.success.value.length} models in ${Math.round(Duration.toMillis(duration))} ms`
      }
    })
  )
}

const keys = ({ apiKeys, vendors }: Settings): ReadonlyArray<Finding> => [
  {
    what: "API keys",
    ok: true,
    says: apiKeys.length === 0 ? "kept in the database (colloquy key list)" : `${apiKeys.length} in COLLOQUY_API_KEYS`
  },
  {
    what: "Vendors",
    ok: vendors.size > 0 ? true : null,
    says:
      vendors.size > 0
        ? [...vendors.keys()].join(", ")
        : "none: the demo model answers. Set OPENAI_API_KEY, for example"
  }
]

const signs = new Map<boolean | null, string>([
  [true, "ok  "],
  [false, "FAIL"],
  [null, "note"]
])

export const doctor: CommandRun = async (args, { env, print }) => {
  const settings = await Effect.runPromise(Effect.result(readSettings(env)))
  const findings: Array<Finding> = [node()]
  if (Result.isFailure(settings)) {
    findings.push(...settings.failure.problems.map((says) => ({ what: "Settings", ok: false, says })))
  } else {
    const providers = makeProviders(settings.success)
    const problem = defaultProblem(providers)
    findings.push({ what: "Settings", ok: problem === undefined, says: problem ?? "every variable is readable" })
    findings.push(...keys(settings.success), ...(await database(settings.success)))
    findings.push(...(await Effect.runPromise(Effect.all(providers.providers.map(provider), { concurrency: 8 }))))
  }
  const isWell = findings.every(({ ok }) => ok !== false)
  print(
    args.includes("--json")
      ? JSON.stringify({ ok: isWell, findings }, null, 2)
      : findings.map(({ ok, says, what }) => `${signs.get(ok)}  ${what}: ${says}`).join("\n")
  )
  return isWell ? 0 : 1
}

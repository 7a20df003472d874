/** Looks at what a server needs, one line each: Node, the settings, the database, vectors, and what each provider answers. It changes nothing. */
import { Pglite } from "@colloquy/adapters/pglite"
import { Postgres } from "@colloquy/adapters/postgres"
import type { Provider } from "@colloquy/core"
import { ChunkIndex } from "@colloquy/core/wings"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { accessSync, constants, existsSync, statSync } from "node:fs"
import { arch, platform } from "node:os"
import { dirname, join, resolve } from "node:path"
import { makeProviders, providerProblems } from "../Services.ts"
import { readSettings, type Settings } from "../Settings.ts"
import { storeRefused } from "../StartRefused.ts"
import { inMemory, makeStores } from "../Stores.ts"
import { type CommandRun, readJsonFlag } from "./Command.ts"
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

/** Opens the database, reads which schema it has, and closes it. Nothing is made and nothing is migrated. */
const database = async (settings: Settings): Promise<ReadonlyArray<Finding>> => {
  const { databaseUrl, dataDir } = settings
  const what = "Database"
  if (databaseUrl === null) {
    if (dataDir === inMemory) return [{ what, ok: true, says: "in memory: nothing is kept" }]
    const found = folderState(dataDir)
    if (found !== "filled") return [{ what, ...newFolder(dataDir, found) }]
  }
  const where = databaseUrl === null ? dataDir : "PostgreSQL of DATABASE_URL"
  const opened = ChunkIndex.use(({ keepsVectors }) => Effect.succeed(keepsVectors))
  try {
    const keepsVectors = await Effect.runPromise(
      opened.pipe(Effect.provide(makeStores(settings, { migrate: false })), Effect.scoped)
    )
    return [
      { what, ok: true, says: `${where}, with the schema of this version` },
      keepsVectors
        ? { what: "Vectors", ok: true, says: "pgvector is there: search by words and meaning" }
        : { what: "Vectors", ok: null, says: "no pgvector 0.7 or newer is used: search by words only" }
    ]
  } catch (error) {
    if (error instanceof Pglite.FolderInUse)
      return [{ what, ok: null, says: `${dataDir} is in use, by a running server perhaps: it was not looked into` }]
    if (error instanceof Postgres.SchemaRefused && error.reason === "behind") {
      const count = `${error.migrations.length} steps of the schema are missing`
      return [{ what, ok: null, says: `${where}: ${count}. The start of the server makes them, or colloquy migrate` }]
    }
    return [{ what, ok: false, says: message(storeRefused(settings, error)) }]
  }
}

type FolderState = "filled" | "new" | "closed"

/** Whether the folder has a database, and if not, whether one can be made: in the folder, or in the nearest one above that exists. */
const folderState = (folder: string): FolderState => {
  const path = resolve(folder)
  try {
    if (!existsSync(path)) return dirname(path) === path ? "closed" : openAbove(dirname(path))
    if (!statSync(path).isDirectory()) return "closed"
    accessSync(path, constants.W_OK | constants.X_OK)
    return existsSync(join(path, "database")) ? "filled" : "new"
  } catch {
    return "closed"
  }
}

const openAbove = (folder: string): FolderState => (folderState(folder) === "closed" ? "closed" : "new")

const newFolder = (folder: string, state: "new" | "closed"): Pick<Finding, "ok" | "says"> =>
  state === "new"
    ? { ok: null, says: `${folder} has no database yet: the start of the server makes it` }
    : { ok: false, says: `${folder} cannot be written. Set COLLOQUY_DATA_DIR to a folder that can, or to memory://` }

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
  const isJson = readJsonFlag(args)
  const settings = await Effect.runPromise(Effect.result(readSettings(env)))
  const findings: Array<Finding> = [node()]
  if (Result.isFailure(settings)) {
    findings.push(...settings.failure.problems.map((says) => ({ what: "Settings", ok: false, says })))
  } else {
    const providers = makeProviders(settings.success)
    const problems = providerProblems(settings.success, providers)
    findings.push(
      ...(problems.length === 0
        ? [{ what: "Settings", ok: true, says: "every variable is readable" }]
        : problems.map((says) => ({ what: "Settings", ok: false, says })))
    )
    findings.push(...keys(settings.success), ...(await database(settings.success)))
    findings.push(...(await Effect.runPromise(Effect.all(providers.providers.map(provider), { concurrency: 8 }))))
  }
  const isWell = findings.every(({ ok }) => ok !== false)
  print(
    isJson
      ? JSON.stringify({ ok: isWell, findings }, null, 2)
      : findings.map(({ ok, says, what }) => `${signs.get(ok)}  ${what}: ${says}`).join("\n")
  )
  return isWell ? 0 : 1
}

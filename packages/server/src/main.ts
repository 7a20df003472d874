/** `npm start`: reads the environment, starts the server, prints how to use it, and ends it on SIGTERM and SIGINT. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { hasGuide } from "./GuideResponse.ts"
import { runLine } from "./RunLines.ts"
import { type RunningServer, startServer } from "./Server.ts"
import { readSettings, type Settings } from "./Settings.ts"
import { inMemory } from "./Stores.ts"
import { vendors } from "./Vendors.ts"

const storagePlace = ({ databaseUrl, dataDir }: Settings): string => {
  if (databaseUrl !== null) return "of DATABASE_URL"
  return dataDir === inMemory ? "in memory; nothing is kept" : `in ${dataDir}`
}

const keyLines = ({ newKey }: RunningServer, { apiKeys }: Settings): ReadonlyArray<string> => {
  if (newKey !== null) return ["Your API key stands behind “#key=” in this address. It is shown this once."]
  if (apiKeys.length > 0) return ["API keys: those of COLLOQUY_API_KEYS."]
  return [
    "API key: the one that was shown at the first start. Lost? Stop the server, then: npm run key -- make default"
  ]
}

const vendorLines = ({ defaultModel, vendors: given }: Settings): ReadonlyArray<string> => {
  if (defaultModel !== null) return []
  return [...given.keys()].some((vendor) => vendors.get(vendor)?.provider !== undefined)
    ? ["Set DEFAULT_MODEL_NAME (and DEFAULT_LLM_PROVIDER) to make a model of your providers the default."]
    : [
        "That is the demo model. Set OPENAI_API_KEY, or the key of another provider, and DEFAULT_MODEL_NAME for real answers."
      ]
}

const welcome = (server: RunningServer, settings: Settings): string => {
  const key = server.newKey === null ? null : Redacted.value(server.newKey)
  const api = `${server.url}${settings.basePath}`
  return [
    `Colloquy listens on ${api}, default model ${server.defaultModel}.`,
    ...vendorLines(settings),
    ...server.voiceNotes,
    "",
    `Studio: ${server.url}/${key === null ? "" : `#key=${key}`}`,
    ...keyLines(server, settings),
    "",
    "Try it, with the key in COLLOQUY_API_KEY:",
    `  curl -N ${api}/threads/messages -H "X-API-Key: $COLLOQUY_API_KEY" \\`,
    `    -H "Content-Type: application/json" -d '{"content": "What time is it?", "stream": true}'`,
    "",
    `Documentation: ${api}/docs${hasGuide ? `, and to read: ${api}/docs/guide` : ""}`
  ].join("\n")
}

const hasColours = process.stdout.isTTY && (process.env["NO_COLOR"] ?? "") === ""

/** A terminal and npm may both pass on one Ctrl+C. */
const sameSignal = 500

const endOnSignal = (server: RunningServer): void => {
  let first: number | null = null
  const stop = () => {
    if (first !== null) {
      if (performance.now() - first > sameSignal) process.exit(1)
      return
    }
    first = performance.now()
    console.log("Running turns are settled; a second signal ends at once.")
    server.stop().then(() => process.exit(0), refuse)
  }
  process.on("SIGTERM", stop)
  process.on("SIGINT", stop)
}

const refuse = (error: unknown): never => {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}

const start = async () => {
  const settings = await Effect.runPromise(readSettings(process.env))
  console.log(`Preparing the database ${storagePlace(settings)}…`)
  const showsRuns = settings.logLevel === "Info" || settings.logLevel === "Debug"
  const server = await startServer(settings, showsRuns ? { onLeg: (leg) => console.log(runLine(leg, hasColours)) } : {})
  console.log(welcome(server, settings))
  endOnSignal(server)
}

start().catch(refuse)

/** `npm start`: reads the environment, starts the server, prints how to use it, and ends it on SIGTERM and SIGINT. */
import * as Effect from "effect/Effect"
import { runLine } from "./RunLines.ts"
import { type RunningServer, startServer } from "./Server.ts"
import { readSettings, type Settings } from "./Settings.ts"
import { inMemory } from "./Stores.ts"
import { welcome } from "./Welcome.ts"

const storagePlace = ({ databaseUrl, dataDir }: Settings): string => {
  if (databaseUrl !== null) return "of DATABASE_URL"
  return dataDir === inMemory ? "in memory; nothing is kept" : `in ${dataDir}`
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
  console.log(welcome(server, settings, hasColours))
  endOnSignal(server)
}

start().catch(refuse)

/** Reads the environment, starts the server, prints how to use it, and ends it on SIGTERM and SIGINT. Used by `npm start` and `colloquy serve`. */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { setFlagsFromString } from "node:v8"
import { runLine } from "./RunLines.ts"
import { type RunningServer, startServer } from "./Server.ts"
import { readSettings, type Settings } from "./Settings.ts"
import { inMemory } from "./Stores.ts"
import { welcome } from "./Welcome.ts"

const storageAddress = ({ databaseUrl, dataDir }: Settings): string => {
  if (databaseUrl !== null) return "of DATABASE_URL"
  return dataDir === inMemory ? "in memory; nothing is kept" : `in ${dataDir}`
}

const hasColours = process.stdout.isTTY && (process.env["NO_COLOR"] ?? "") === ""

/** A second signal within this time, in milliseconds, is the same Ctrl+C: a terminal and npm may both pass it on. */
const sameSignal = 500

type Say = (text: string) => void

const endOnSignal = (server: RunningServer, say: Say, refuse: (error: unknown) => void): void => {
  let first: number | null = null
  const stop = () => {
    if (first !== null) {
      if (performance.now() - first > sameSignal) process.exit(1)
      return
    }
    first = performance.now()
    say("Answers under way have time to end. A second signal ends the server at once.")
    server.stop().then(() => process.exit(0), refuse)
  }
  process.on("SIGTERM", stop)
  process.on("SIGINT", stop)
}

/** With `json`, standard output gets one line when the server listens; everything else goes to standard error. */
export const runServer = async ({ json = false }: { readonly json?: boolean } = {}): Promise<void> => {
  // Objects that live long while the server starts would be allocated in V8's old space in every request (docs/operations.md).
  setFlagsFromString("--no-allocation-site-pretenuring")
  const settings = await Effect.runPromise(readSettings(process.env))
  const say: Say = json ? (text) => console.error(text) : (text) => console.log(text)
  say(`Preparing the database ${storageAddress(settings)}…`)
  const showsRuns = settings.logLevel === "Info" || settings.logLevel === "Debug"
  const server = await startServer(settings, showsRuns ? { onLeg: (leg) => say(runLine(leg, hasColours)) } : {})
  if (json) {
    const { newKey, url } = server
    const key = newKey === null ? null : Redacted.value(newKey)
    console.log(JSON.stringify({ url, api: `${url}${settings.basePath}`, key }))
  } else console.log(welcome(server, settings, hasColours))
  endOnSignal(server, say, (error) => {
    console.error(error instanceof Error ? error.message : error)
    process.exit(1)
  })
}

/** `npm start`. Reads the environment, starts the server, tells how to use it, and ends it on SIGTERM and SIGINT. */
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { readSettings } from "./Settings.ts"
import { type RunningServer, startServer } from "./Server.ts"

const welcome = (server: RunningServer, basePath: string): string => {
  const key = server.newKey === null ? null : Redacted.value(server.newKey)
  const shown = key ?? "$COLLOQUY_API_KEY"
  const fragment = key === null ? "" : `#key=${key}`
  return [
    `Colloquy listens on ${server.url}${basePath}, default model ${server.defaultModel}.`,
    ...(key === null ? [] : ["", `API key (shown this once): ${key}`]),
    "",
    "Try it:",
    `  curl -N ${server.url}${basePath}/threads/messages -H "X-API-Key: ${shown}" \\`,
    `    -H "Content-Type: application/json" -d '{"content": "What time is it?", "stream": true}'`,
    "",
    `Page:          ${server.url}/${fragment}`,
    `Documentation: ${server.url}${basePath}/docs`
  ].join("\n")
}

const start = async () => {
  const settings = await Effect.runPromise(readSettings(ConfigProvider.fromEnv()))
  const server = await startServer(settings)
  console.log(welcome(server, settings.basePath))
  let stopping = false
  const stop = () => {
    if (stopping) process.exit(1)
    stopping = true
    console.log("Running turns are settled; a second signal ends at once.")
    server.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error)
        process.exit(1)
      }
    )
  }
  process.on("SIGTERM", stop)
  process.on("SIGINT", stop)
}

start().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
})

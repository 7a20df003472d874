/** `npm start`. */
import { toldError } from "./command/Command.ts"
import { runServer } from "./RunServer.ts"

runServer().catch((error: unknown) => {
  console.error(toldError(error, process.env["LOG_LEVEL"]?.toLowerCase() === "debug"))
  process.exit(1)
})

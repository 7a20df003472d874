/** `npm start`. */
import { runServer } from "./RunServer.ts"
import { toldError } from "./ToldErrors.ts"

runServer().catch((error: unknown) => {
  console.error(toldError(error, process.env["LOG_LEVEL"]?.toLowerCase() === "debug"))
  process.exit(1)
})

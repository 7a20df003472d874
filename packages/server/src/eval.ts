/** `npm run eval -- cases.jsonl [options]`: answers and scores the cases of a file with the server's settings, and ends with their status. */
import { evaluateCommand } from "./evaluate.ts"

evaluateCommand(process.argv.slice(2), { env: process.env, print: (text) => console.log(text) }).then(
  (status) => {
    process.exitCode = status
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 2
  }
)

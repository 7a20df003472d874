/** The script of the process that reads one file. */
import { answerOnce } from "./answerOnce.ts"
import { prepareFile } from "./prepareFile.ts"
import { explain } from "./readFile.ts"

await answerOnce(prepareFile, explain)

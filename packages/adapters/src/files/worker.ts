/** The script of the process that reads one file. */
import { answerOnce } from "./answerOnce.ts"
import { explain, readFile } from "./readFile.ts"

await answerOnce(readFile, explain)

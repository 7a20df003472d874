/** The script of the process in which one file is read. */
import { answerOnce } from "./answerOnce.ts"
import { explain, readFile } from "./readFile.ts"

await answerOnce(readFile, explain)

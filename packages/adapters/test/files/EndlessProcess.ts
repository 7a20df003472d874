/** A reader whose answer never ends. */
import { answerOnce } from "../../src/files/answerOnce.ts"
import { explain } from "../../src/files/readFile.ts"

await answerOnce<unknown, string, string>((_task, _bytes, sendPart) => {
  for (;;) sendPart("x".repeat(1_000_000))
}, explain)

/** A reader whose answer is no message: native code that a file has taken over could send anything. */
import { writeSync } from "node:fs"
import { answerOnce, answerPipe } from "../../src/files/answerOnce.ts"
import { explain } from "../../src/files/readFile.ts"

await answerOnce(() => {
  writeSync(answerPipe, Buffer.from([4, 0, 0, 0, 1, 2, 3, 4]))
  for (;;) performance.now()
}, explain)

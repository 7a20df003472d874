/** A reader that connects to the port that its file names, so that its end can be seen, and is busy for ever. */
import { once } from "node:events"
import { connect } from "node:net"
import { answerOnce } from "../../src/files/answerOnce.ts"
import { explain } from "../../src/files/readFile.ts"

await answerOnce(async (_, bytes) => {
  const socket = connect(Number(new TextDecoder().decode(bytes)), "127.0.0.1")
  await once(socket, "connect")
  for (;;) performance.now()
}, explain)

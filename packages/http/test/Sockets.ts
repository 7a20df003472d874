/** Real servers for a test: free ports on 127.0.0.1, closed with the test. */
import { createServer, type RequestListener, type Server } from "node:http"
import { type AddressInfo, connect } from "node:net"

export interface Running {
  readonly url: string
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

export const listen = async (listener: RequestListener | Server): Promise<Running> => {
  const server = typeof listener === "function" ? createServer(listener) : listener
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve)
  })
  return {
    url: serverUrl(server),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => {
        server.close(resolve)
      })
    }
  }
}

export const serverUrl = (server: Server): string => {
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

/** The port of a server that is known by its address. */
export const portIn = ({ url }: Pick<Running, "url">): number => Number(new URL(url).port)

/** Sends a few bytes, hangs up or leaves that to the server, and gives what came back. */
export const talk = (port: number, text: string, hangsUp = true): Promise<string> =>
  new Promise((resolve) => {
    let answer = ""
    const socket = connect(port, "127.0.0.1", () =>
      hangsUp ? socket.end(text, "latin1") : socket.write(text, "latin1")
    )
    socket.on("data", (bytes) => (answer += bytes.toString("latin1")))
    socket.on("error", () => {})
    socket.on("close", () => resolve(answer))
  })

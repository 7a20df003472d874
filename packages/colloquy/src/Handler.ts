/** The HTTP API over a kernel that is open. The package that speaks HTTP is loaded when it is asked for. */
import type { Kernel } from "@colloquy/core"
import { UnderWay } from "@colloquy/core/adapters"
import { KernelClosed, type OpenKernel } from "@colloquy/core/promises"
import type { RoutesOptions } from "@colloquy/http"
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import type { IncomingMessage, ServerResponse } from "node:http"

/** The HTTP API of an open kernel, as a function of web requests and as one of Node. */
export interface Handlers {
  /** Where the routes begin, such as `/ai`; at the root the empty text. */
  readonly basePath: string
  /** For Hono, Next, Bun, Deno, and everything that speaks web requests. */
  readonly handler: (request: Request) => Promise<Response>
  /** For Express, Fastify and `node:http`. */
  readonly node: (request: IncomingMessage, response: ServerResponse) => void
}

/** The call that makes the HTTP API of an open kernel. */
export interface WithHandler {
  /** The whole API, to be mounted: `createServer((await colloquy.handler()).node)`. It ends with the kernel. */
  readonly handler: <Source = unknown>(options?: RoutesOptions<Source>) => Promise<Handlers>
}

export const withHandler = <Open extends Pick<OpenKernel<Kernel.Kernel>, "close" | "services">>(
  kernel: Open
): Open & WithHandler => {
  const mounted = new Set<() => Promise<void>>()
  let isClosed = false
  const checkOpen = () => {
    if (isClosed) throw new KernelClosed()
  }

  const handler: WithHandler["handler"] = async (options) => {
    checkOpen()
    const { webHandler } = await import("@colloquy/http")
    checkOpen()
    const web = webHandler({ ...options, kernel: Layer.succeedContext(kernel.services) })
    mounted.add(web.dispose)
    await web.ready()
    const { begin } = Context.get(kernel.services, UnderWay)
    return { basePath: web.basePath, handler: (request) => web.handler(request).finally(begin()), node: web.node }
  }

  const end = async () => {
    isClosed = true
    try {
      await Promise.all([...mounted].map((dispose) => dispose()))
    } finally {
      await kernel.close()
    }
  }
  let ended: Promise<void> | undefined
  const close = () => (ended ??= end())

  return { ...kernel, handler, close, [Symbol.asyncDispose]: close }
}

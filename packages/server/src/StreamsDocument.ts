/** `/asyncapi.json` of the server: the streams of the API as `http` describes them, and the sockets of voice sessions. */
import type { WebHandler } from "@colloquy/http"
import type { SocketDescription } from "@colloquy/ws/asyncapi"

export const streamsDocument = async (
  { handler }: Pick<WebHandler, "handler">,
  basePath: string
): Promise<Response> => {
  const described = await handler(new Request(`http://localhost${basePath}/asyncapi.json`))
  if (!described.ok) return described
  const { socketDescription } = await import("@colloquy/ws/asyncapi")
  const sockets = socketDescription(basePath)
  const streams: SocketDescription = JSON.parse(await described.text())
  const whole: SocketDescription = {
    ...streams,
    info: {
      ...streams.info,
      description: `${String(streams.info["description"])} ${String(sockets.info["description"])}`
    },
    channels: { ...streams.channels, ...sockets.channels },
    operations: { ...streams.operations, ...sockets.operations },
    components: {
      securitySchemes: { ...streams.components.securitySchemes, ...sockets.components.securitySchemes },
      schemas: { ...streams.components.schemas, ...sockets.components.schemas }
    }
  }
  return Response.json(whole, { headers: { "cache-control": "no-cache", "x-content-type-options": "nosniff" } })
}

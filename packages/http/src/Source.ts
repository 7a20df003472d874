/**
 * The host's own request behind each request of the service, on which the host's middleware may have put a session or a user. It is the Node
 * message or the web `Request` that the host passed in, or the object that the host named with `withSource`. `authenticate` receives it.
 */
const named = new WeakMap<object, unknown>()

/**
 * Says which request of the host a Node message or a web `Request` belongs to, and gives that message back. For frameworks that keep their
 * session on an object of their own: `ai.node(withSource(request.raw, request), reply.hijack().raw)` in Fastify,
 * `ai.handler(withSource(context.req.raw, context))` in Hono.
 */
export const withSource = <Carrier extends object>(carrier: Carrier, source: unknown): Carrier => {
  named.set(carrier, source)
  return carrier
}

/** The object that the host named for this message or request; without one, the message or request itself. */
export const namedSource = (carrier: object): unknown => (named.has(carrier) ? named.get(carrier) : carrier)

/** What a function of the host gets of a request outside of the API: the headers, and the host's own request, as `authenticate` gets it. */
export interface HostRequest<Source = unknown> {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly source: Source
}

/** For a web request that `toNodeHandler` made, the source is the message of Node. */
export const hostRequest = <Source>(request: Request): HostRequest<Source> => ({
  headers: Object.fromEntries(request.headers),
  // Only the host knows this type: it depends on the framework in which the service is mounted.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  source: namedSource(request) as Source
})

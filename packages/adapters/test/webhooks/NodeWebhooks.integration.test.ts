/** Which addresses webhooks may be sent to, and one request over a real connection: no redirect, no long answer, the checked address only. */
import { NotSent, WebhookSecrets, WebhookSender } from "@colloquy/core/webhooks"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { type NodeWebhookOptions, NodeWebhooks } from "../../src/webhooks/index.ts"

const secret = Redacted.make("a secret of the host")

const withSender = <A, E>(
  options: Partial<NodeWebhookOptions>,
  use: (sender: typeof WebhookSender.Service) => Effect.Effect<A, E>
) => Effect.flatMap(WebhookSender, use).pipe(Effect.provide(NodeWebhooks.layer({ secret, ...options })))

const post = { headers: { "content-type": "application/json" }, body: '{"a":1}' }

const receiving = (answer: (request: IncomingMessage, response: ServerResponse) => void) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer(answer)
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const address = server.address()
      return { server, port: typeof address === "object" && address !== null ? address.port : 0 }
    }),
    ({ server }) =>
      Effect.promise(() => {
        server.closeAllConnections()
        return new Promise((resolve) => server.close(resolve))
      })
  )

const privateUrls = [
  "http://127.0.0.1/",
  "http://127.1/",
  "http://2130706433/",
  "http://0x7f.0.0.1/",
  "http://017700000001/",
  "http://0.0.0.0/",
  "http://10.1.2.3/",
  "http://172.31.255.255/",
  "http://192.168.0.1/",
  "http://169.254.169.254/latest/meta-data",
  "http://100.64.0.1/",
  "http://224.0.0.1/",
  "http://255.255.255.255/",
  "http://[::]/",
  "http://[::1]/",
  "http://[fe80::1]/",
  "http://[fc00::1]/",
  "http://[fd12:3456::1]/",
  "http://[::ffff:10.0.0.1]/",
  "http://[::ffff:7f00:1]/",
  "http://[::127.0.0.1]/",
  "http://[64:ff9b::7f00:1]/",
  "http://[2002:7f00:1::]/",
  "http://[2001:db8::1]/",
  "http://[ff02::1]/"
]

it.effect("private addresses are refused in every spelling, and so is what is no address", () =>
  withSender({}, (sender) =>
    Effect.gen(function* () {
      for (const url of privateUrls) {
        assert.include(sender.problem(url), "private network", url)
        assert.isTrue((yield* Effect.flip(sender.send({ ...post, url }))).isFinal, url)
      }
      for (const url of [
        "",
        "x",
        "ftp://example.com",
        "file:///etc/passwd",
        "https://u:p@example.com",
        "//example.com"
      ])
        assert.isNotNull(sender.problem(url), url)
      for (const url of ["https://example.com/a?b", "http://93.184.216.34/", "http://[2606:4700::1111]/"])
        assert.isNull(sender.problem(url), url)
    })
  )
)

it.live("a name that leads to a private address is refused when it is used, also as one of several", () =>
  withSender(
    {
      resolve: async () => [
        { address: "93.184.216.34", family: 4 },
        { address: "10.0.0.1", family: 4 }
      ]
    },
    (sender) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(sender.send({ ...post, url: "http://rebinding.example/" }))
        assert.instanceOf(error, NotSent)
        assert.isTrue(error.isFinal)
        assert.include(error.message, "private network")
      })
  )
)

it.live("one request reaches the checked address; redirects are not followed, and long answers are cut", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const paths: Array<string> = []
      const bodies: Array<string> = []
      const { port } = yield* receiving((request, response) => {
        paths.push(`${request.headers.host} ${request.url}`)
        let body = ""
        request.setEncoding("utf8").on("data", (piece: string) => (body += piece))
        request.on("end", () => {
          bodies.push(body)
          if (request.url === "/moved") response.writeHead(302, { location: "/elsewhere" }).end()
          else if (request.url === "/long") {
            response.writeHead(200)
            const more = () => {
              while (!response.destroyed && response.write("x".repeat(16_384)));
              response.once("drain", more)
            }
            more()
          } else response.writeHead(204).end()
        })
      })
      const resolve = async () => [{ address: "127.0.0.1", family: 4 }]
      const statuses = yield* withSender({ privateAddresses: true, resolve }, ({ send }) =>
        Effect.forEach(["/", "/moved", "/long"], (path) => send({ ...post, url: `http://a.example:${port}${path}` }))
      )
      assert.deepStrictEqual(statuses, [204, 302, 200])
      assert.deepStrictEqual(paths, [`a.example:${port} /`, `a.example:${port} /moved`, `a.example:${port} /long`])
      assert.deepStrictEqual(bodies, [post.body, post.body, post.body])
    })
  )
)

it.live("an address that was pasted with spaces before it is the address", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const { port } = yield* receiving((_, response) => response.writeHead(204).end())
      yield* withSender({ privateAddresses: true }, (sender) =>
        Effect.gen(function* () {
          const url = ` \nhttp://127.0.0.1:${port}/`
          assert.isNull(sender.problem(url))
          assert.strictEqual(yield* sender.send({ ...post, url }), 204)
          assert.isNull(sender.problem(" https://127.0.0.1:1/"))
          const refused = yield* Effect.flip(sender.send({ ...post, url: " https://127.0.0.1:1/" }))
          assert.isFalse(refused.isFinal)
        })
      )
    })
  )
)

it.effect("a secret is opened at its place only, and under the host's key only", () =>
  Effect.gen(function* () {
    const text = Redacted.make("whsec_abc")
    const sealed = yield* WebhookSecrets.use(({ seal }) => seal(text, "one")).pipe(
      Effect.provide(NodeWebhooks.layer({ secret }))
    )
    assert.notInclude(sealed, "whsec")
    const opened = (place: string, options: NodeWebhookOptions) =>
      WebhookSecrets.use(({ open }) => open(sealed, place)).pipe(Effect.provide(NodeWebhooks.layer(options)))
    const other = Redacted.make("another secret of the host")
    const found = yield* opened("one", { secret: other, earlierSecrets: [secret] })
    assert.strictEqual(found === null ? null : Redacted.value(found), "whsec_abc")
    assert.isNull(yield* opened("two", { secret }))
    assert.isNull(yield* opened("one", { secret: other }))
  })
)

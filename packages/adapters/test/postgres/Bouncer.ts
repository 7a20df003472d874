/** PgBouncer in transaction mode, in front of the server of the tests: each transaction gets one of three connections of the server. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { freePort } from "./PrivateServer.ts"

const found = ["/usr/sbin", ...(process.env["PATH"] ?? "").split(delimiter)]
  .map((folder) => join(folder, "pgbouncer"))
  .find((path) => existsSync(path))

/** Why there is none; null when there is one. */
export const noBouncer =
  found === undefined ? "PgBouncer is not installed; on Debian: sudo apt-get install pgbouncer" : null

/** Its address. It ends with the scope. */
export const bouncer = (url: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "colloquy-bouncer-"))),
      (made) => Effect.promise(() => rm(made, { recursive: true, force: true }))
    )
    const port = yield* freePort
    const file = join(folder, "pgbouncer.ini")
    yield* Effect.promise(async () => {
      await writeFile(file, settings(new URL(url), port))
      await chmod(folder, 0o755)
    })
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        // It refuses to run as root.
        const bouncerCommand = [found ?? "pgbouncer", "--quiet", file] as const
        const [program, ...args] =
          process.getuid?.() === 0 ? (["runuser", "-u", "postgres", "--", ...bouncerCommand] as const) : bouncerCommand
        return spawn(program, args, { cwd: "/", stdio: "ignore" })
      }),
      (child) =>
        Effect.promise(async () => {
          if (child.exitCode !== null || child.signalCode !== null) return
          const gone = once(child, "exit")
          // At once; the other signal would wait for its clients.
          child.kill("SIGTERM")
          await gone
        })
    )
    yield* Effect.promise(() => listening(port))
    const own = new URL(url)
    own.host = `127.0.0.1:${port}`
    return own.href
  })

const settings = ({ hostname, password, pathname, port, username }: URL, own: number): string => `[databases]
${pathname.slice(1)} = host=${hostname} port=${port === "" ? 5432 : port} user=${username} password=${decodeURIComponent(password)}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 100
ignore_startup_parameters = extra_float_digits
`

/** It opens its port within moments of its start; a connection that is refused is tried again. */
const listening = async (port: number): Promise<void> => {
  for (let attempt = 0; attempt < 200; attempt++) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1")
      socket.once("connect", () => {
        socket.destroy()
        resolve(true)
      })
      socket.once("error", () => setTimeout(() => resolve(false), 50))
    })
    if (isOpen) return
  }
  throw new Error("PgBouncer did not open its port.")
}

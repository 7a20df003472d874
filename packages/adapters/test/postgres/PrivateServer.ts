/** A PostgreSQL server that a test may stop and start again. Needs the server's programs on this machine. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { execFile } from "node:child_process"
import { existsSync, globSync } from "node:fs"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

export interface PrivateServer {
  readonly url: string
  /** Like a crash: connections break off in the middle of a statement. */
  readonly stop: Effect.Effect<void>
  readonly start: Effect.Effect<void>
}

const programs = globSync("/usr/lib/postgresql/*/bin").toSorted().at(-1) ?? "/usr/local/bin"

export const canStartServer = existsSync(join(programs, "initdb"))

const run = promisify(execFile)

/** A server refuses to run as root; the Debian package brings the user postgres. */
const asServer = (program: string, args: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.promise(() =>
      process.getuid?.() === 0
        ? run("runuser", ["-u", "postgres", "--", join(programs, program), ...args], { cwd: "/" })
        : run(join(programs, program), [...args])
    )
  )

export const privateServer: Effect.Effect<PrivateServer, never, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "colloquy-server-"))),
    (made) => Effect.promise(() => rm(made, { recursive: true, force: true }))
  )
  yield* Effect.promise(() => chmod(folder, 0o777))
  const data = join(folder, "data")
  const port = yield* freePort
  yield* asServer("initdb", ["--pgdata", data, "--username", "postgres", "--auth", "trust", "--no-sync"])
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${folder} -c fsync=off`
  const control = (...args: ReadonlyArray<string>) =>
    asServer("pg_ctl", ["--pgdata", data, "--wait", "--silent", ...args])
  const start = control("--log", join(folder, "log"), "--options", settings, "start")
  const stop = control("--mode", "immediate", "stop")
  yield* Effect.acquireRelease(start, () => Effect.ignoreCause(stop))
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, start, stop }
})

export const freePort = Effect.promise(
  () =>
    new Promise<number>((resolve, reject) => {
      const server = createServer().listen(0, "127.0.0.1", () => {
        const address = server.address()
        server.close(() =>
          typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port"))
        )
      })
    })
)

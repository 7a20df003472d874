/**
 * `npm run key -- make <owner>`, `list <owner>` and `revoke <owner> <id>`: manages the server's keys while no server uses the folder. With
 * DATABASE_URL a server may run. A key is shown only when it is made.
 */
import { KeyId, Keys, Principal } from "@colloquy/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { readSettings } from "./Settings.ts"
import { StartRefused, storeRefused } from "./StartRefused.ts"
import { inMemory, prepareFolder, storesOf } from "./Stores.ts"

const usage = "Usage: npm run key -- make <owner> | list <owner> | revoke <owner> <id>"

const commands: Readonly<Record<string, (id: string) => Effect.Effect<string, unknown, Keys | Principal>>> = {
  make: () =>
    Keys.use(({ make }) =>
      Effect.map(make("made by hand"), ({ key }) => `API key (shown this once): ${Redacted.value(key)}`)
    ),
  list: () =>
    Keys.use(({ list }) =>
      Effect.map(list, (keys) =>
        keys
          .map(({ createdAt, id, name, revokedAt }) =>
            [id, createdAt.toISOString(), name, ...(revokedAt === null ? [] : ["(revoked)"])].join("  ")
          )
          .join("\n")
      )
    ),
  revoke: (id) => Keys.use(({ revoke }) => Effect.as(revoke(KeyId.make(id)), "The key is revoked."))
}

const run = async ([name = "", owner, id = ""]: ReadonlyArray<string>): Promise<string> => {
  const command = commands[name]
  if (command === undefined || owner === undefined) throw new StartRefused({ message: usage })
  const settings = await Effect.runPromise(readSettings(process.env))
  if (settings.databaseUrl === null && settings.dataDir === inMemory) {
    throw new StartRefused({ message: "COLLOQUY_DATA_DIR is memory://, which keeps no keys." })
  }
  await prepareFolder(settings)
  const keys = Keys.layer.pipe(Layer.provide(storesOf(settings)))
  return Effect.runPromise(command(id).pipe(Principal.provide(owner), Effect.provide(keys))).catch((error: unknown) => {
    throw storeRefused(settings, error)
  })
}

run(process.argv.slice(2)).then(
  (text) => console.log(text),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
)

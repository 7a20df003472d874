/**
 * `npm run key -- make <owner> [--scope read|write|admin] [--days N]`, `list <owner>` and `revoke <owner> <id>`: manages the server's keys
 * while no server uses the folder. With DATABASE_URL a server may run. A key is shown only when it is made.
 */
import { KeyId, Keys, KeyScope, Principal } from "@colloquy/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { parseArgs } from "node:util"
import { readSettings } from "./Settings.ts"
import { StartRefused, storeRefused } from "./StartRefused.ts"
import { inMemory, prepareFolder, makeStores } from "./Stores.ts"

const usage =
  "Usage: npm run key -- make <owner> [--scope read|write|admin] [--days N] | list <owner> | revoke <owner> <id>"

interface Words {
  readonly id: string
  readonly scope: KeyScope
  readonly days: number | null
}

const dayMillis = 86_400_000

const commands: Readonly<Record<string, (words: Words) => Effect.Effect<string, unknown, Keys | Principal>>> = {
  make: ({ days, scope }) =>
    Effect.gen(function* () {
      const expiresAt = days === null ? null : new Date((yield* Clock.currentTimeMillis) + days * dayMillis)
      const { key } = yield* (yield* Keys).make("made by hand", { scope, expiresAt })
      return `API key (shown this once): ${Redacted.value(key)}`
    }),
  list: () =>
    Keys.use(({ list }) =>
      Effect.map(list, (keys) =>
        keys
          .map(({ createdAt, expiresAt, id, name, revokedAt, scope }) =>
            [
              id,
              createdAt.toISOString(),
              name,
              scope,
              ...(expiresAt === null ? [] : [`until ${expiresAt.toISOString()}`]),
              ...(revokedAt === null ? [] : ["(revoked)"])
            ].join("  ")
          )
          .join("\n")
      )
    ),
  revoke: ({ id }) => Keys.use(({ revoke }) => Effect.as(revoke(KeyId.make(id)), "The key is revoked."))
}

const refuse = () => new StartRefused({ message: usage })

const Days = Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 36_500 }))

const readArguments = (args: Array<string>) => {
  try {
    const { positionals, values } = parseArgs({
      args,
      allowPositionals: true,
      options: { scope: { type: "string", default: "admin" }, days: { type: "string" } }
    })
    const [name = "", owner = "", id = ""] = positionals
    const scope = Schema.decodeUnknownSync(KeyScope)(values.scope)
    const days = values.days === undefined ? null : Schema.decodeUnknownSync(Days)(values.days)
    return { name, owner, words: { id, scope, days } }
  } catch {
    throw refuse()
  }
}

const run = async (args: Array<string>): Promise<string> => {
  const { name, owner, words } = readArguments(args)
  const command = commands[name]
  if (command === undefined || owner === "") throw refuse()
  const settings = await Effect.runPromise(readSettings(process.env))
  if (settings.databaseUrl === null && settings.dataDir === inMemory) {
    throw new StartRefused({ message: "COLLOQUY_DATA_DIR is memory://, which keeps no keys." })
  }
  await prepareFolder(settings)
  const keys = Keys.layer.pipe(Layer.provide(makeStores(settings)))
  return Effect.runPromise(command(words).pipe(Principal.provide(owner), Effect.provide(keys))).catch(
    (error: unknown) => {
      throw storeRefused(settings, error)
    }
  )
}

run(process.argv.slice(2)).then(
  (text) => console.log(text),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
)

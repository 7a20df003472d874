/**
 * Manages the server's keys while no server uses the folder. With DATABASE_URL a server may run. A key is shown only when it is made.
 */
import { KeyId, Keys, KeyScope, Principal } from "@colloquy/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { parseArgs } from "node:util"
import { readSettings } from "../Settings.ts"
import { StartRefused, storeRefused } from "../StartRefused.ts"
import { inMemory, prepareFolder, makeStores } from "../Stores.ts"
import { type CommandRun, WronglyCalled } from "./Command.ts"

const usage =
  "key make <owner> [--scope read|write|admin] [--days N] | key list <owner> [--json] | key revoke <owner> <id>"

interface Words {
  readonly id: string
  readonly scope: KeyScope
  readonly days: number | null
  readonly json: boolean
}

const dayMillis = 86_400_000

const commands: Readonly<Record<string, (words: Words) => Effect.Effect<string, unknown, Keys | Principal>>> = {
  make: ({ days, scope }) =>
    Effect.gen(function* () {
      const expiresAt = days === null ? null : new Date((yield* Clock.currentTimeMillis) + days * dayMillis)
      const { key } = yield* (yield* Keys).make("made by hand", { scope, expiresAt })
      return `API key (shown this once): ${Redacted.value(key)}`
    }),
  list: ({ json }) =>
    Keys.use(({ list }) =>
      Effect.map(list, (keys) => {
        if (json) return JSON.stringify(keys, null, 2)
        return keys
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
      })
    ),
  revoke: ({ id }) => Keys.use(({ revoke }) => Effect.as(revoke(KeyId.make(id)), "The key is revoked."))
}

const refuse = () => new WronglyCalled(usage, "A word is missing or wrong.")

const Days = Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 36_500 }))

const readArguments = (args: ReadonlyArray<string>) => {
  try {
    const { positionals, values } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        scope: { type: "string", default: "admin" },
        days: { type: "string" },
        json: { type: "boolean", default: false }
      }
    })
    const [name = "", owner = "", id = ""] = positionals
    const scope = Schema.decodeUnknownSync(KeyScope)(values.scope)
    const days = values.days === undefined ? null : Schema.decodeUnknownSync(Days)(values.days)
    return { name, owner, words: { id, scope, days, json: values.json } }
  } catch {
    throw refuse()
  }
}

export const key: CommandRun = async (args, { env, print }) => {
  const { name, owner, words } = readArguments(args)
  const command = commands[name]
  if (command === undefined || owner === "") throw refuse()
  const settings = await Effect.runPromise(readSettings(env))
  if (settings.databaseUrl === null && settings.dataDir === inMemory) {
    throw new StartRefused({ message: "COLLOQUY_DATA_DIR is memory://, which keeps no keys." })
  }
  await prepareFolder(settings)
  const keys = Keys.layer.pipe(Layer.provide(makeStores(settings)))
  const told = await Effect.runPromise(command(words).pipe(Principal.provide(owner), Effect.provide(keys))).catch(
    (error: unknown) => {
      throw storeRefused(settings, error)
    }
  )
  print(told)
  return 0
}

/**
 * Manages the server's keys while no server uses the folder. With DATABASE_URL a server may run. A key is shown only once, when it is made.
 */
import { KeyId, Keys, KeyScope, Principal } from "@colloquy/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { readSettings } from "../Settings.ts"
import { StartRefused, storeRefused } from "../StartRefused.ts"
import { inMemory, prepareFolder, makeStores } from "../Stores.ts"
import { WronglyCalled } from "../ToldErrors.ts"
import { type CommandRun, readWords } from "./Command.ts"

interface Words {
  readonly owner: string
  readonly id: string
  readonly scope: KeyScope
  readonly days: number | null
  readonly json: boolean
}

const dayMillis = 86_400_000

const commands: Readonly<Record<string, (words: Words) => Effect.Effect<string, unknown, Keys | Principal>>> = {
  make: ({ days, json, scope }) =>
    Effect.gen(function* () {
      const expiresAt = days === null ? null : new Date((yield* Clock.currentTimeMillis) + days * dayMillis)
      const { key, summary } = yield* (yield* Keys).make("made by hand", { scope, expiresAt })
      const secret = Redacted.value(key)
      return json
        ? JSON.stringify({ id: summary.id, key: secret, scope, expiresAt })
        : `API key (shown this once): ${secret}`
    }),
  list: ({ json, owner }) =>
    Keys.use(({ list }) =>
      Effect.map(list, (keys) => {
        if (json) return JSON.stringify(keys, null, 2)
        if (keys.length === 0) return `${owner} has no keys. colloquy key make ${owner} makes one.`
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
  revoke: ({ id, json }) =>
    Keys.use(({ revoke }) =>
      Effect.as(revoke(KeyId.make(id)), json ? JSON.stringify({ id, revoked: true }) : "The key is revoked.")
    )
}

const refuse = (problem: string) => new WronglyCalled(problem)

const Days = Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 36_500 }))
const readScope = Schema.decodeUnknownOption(KeyScope)
const readDays = Schema.decodeUnknownOption(Days)

const readArguments = (args: ReadonlyArray<string>) => {
  const { positionals, values } = readWords({
    args: [...args],
    allowPositionals: true,
    options: {
      scope: { type: "string", default: "admin" },
      days: { type: "string" },
      json: { type: "boolean", default: false }
    }
  })
  const [name = "", owner = "", id = "", ...more] = positionals
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) throw refuse(`Say make, list or revoke${name === "" ? "" : `, and not "${name}"`}.`)
  if (owner === "") throw refuse(`Name the user: colloquy key ${name} ada, for example.`)
  if (name === "revoke" && id === "") throw refuse(`Name the id of the key. colloquy key list ${owner} shows it.`)
  if (more.length > 0 || (name !== "revoke" && id !== "")) throw refuse(`"${more[0] ?? id}" is one word too many.`)
  const scope = readScope(values.scope)
  if (Option.isNone(scope)) throw refuse(`--scope is read, write or admin, and not "${values.scope}".`)
  const days = values.days === undefined ? Option.some(null) : readDays(values.days)
  if (Option.isNone(days)) throw refuse(`--days is a number from 1 to 36500, and not "${values.days}".`)
  return { command, owner, words: { id, owner, scope: scope.value, days: days.value, json: values.json } }
}

export const key: CommandRun = async (args, { env, print }) => {
  const { command, owner, words } = readArguments(args)
  const settings = await Effect.runPromise(readSettings(env))
  if (settings.databaseUrl === null && settings.dataDir === inMemory) {
    throw new StartRefused({
      message:
        "COLLOQUY_DATA_DIR is memory://, which keeps no keys. Set it to the folder of the server, or set DATABASE_URL."
    })
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

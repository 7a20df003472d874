/**
 * The keys for providers that customers bring themselves, on PostgreSQL. They are encrypted before they leave the process. The kernel reads
 * them through `ProviderKeys`; the host stores and removes them through `ProviderKeyVault`.
 */
import { Principal, ProviderKeys, type StoreUnavailable } from "@colloquy/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { Database } from "./Database.ts"
import { ownedStatements } from "./OwnedStatements.ts"
import { makeSeal } from "./SealedText.ts"
import { fromText, toText } from "./StoredText.ts"

/** Keeps the keys of providers that owners bring themselves, encrypted. */
export class ProviderKeyVault extends Context.Service<
  ProviderKeyVault,
  {
    /** Stores the principal's key for a provider, and replaces an earlier one. */
    readonly put: (provider: string, key: Redacted.Redacted<string>) => Effect.Effect<void, StoreUnavailable, Principal>
    /** The principal's key for the provider, or null. */
    readonly find: (provider: string) => Effect.Effect<Redacted.Redacted<string> | null, StoreUnavailable, Principal>
    /** Returns false when the principal has no key for the provider. */
    readonly remove: (provider: string) => Effect.Effect<boolean, StoreUnavailable, Principal>
    /** The providers for which the principal has a key. Names with a colon belong to others (`SealedSecretStore`), and are left out. */
    readonly list: Effect.Effect<ReadonlyArray<string>, StoreUnavailable, Principal>
    /**
     * Encrypts the keys of all owners that are still encrypted under an earlier secret under the present one, and returns how many these
     * were. Afterwards the host can forget the earlier secrets. It may run while the service runs.
     */
    readonly reseal: Effect.Effect<number, StoreUnavailable>
  }
>()("@colloquy/adapters/postgres/ProviderKeyVault") {}

interface SealedRow {
  readonly owner: string
  readonly provider: string
  readonly sealed: Uint8Array
}

const pageOfKeys = 100

export const makeProviderKeys = Effect.fnUntraced(function* (
  database: Database,
  secret: Redacted.Redacted<string>,
  earlierSecrets: ReadonlyArray<Redacted.Redacted<string>>
): Effect.fn.Return<Context.Context<ProviderKeyVault>> {
  const seal = yield* makeSeal(secret, earlierSecrets)
  const { query, schema } = database
  const own = ownedStatements(database, "ProviderKeyVault")
  const sealingContext = (owner: string, provider: string) => JSON.stringify([owner, provider])

  /** A key that its owner has replaced meanwhile stays as it is. */
  const resealOne = Effect.fnUntraced(function* ({ owner, provider, sealed }: SealedRow) {
    const context = sealingContext(fromText(owner), fromText(provider))
    const { isEarlier, text } = yield* seal.open(sealed, context)
    if (!isEarlier) return 0
    const updated = yield* query(
      "ProviderKeyVault.reseal",
      `update ${schema}.provider_keys set sealed = $3 where owner = $1 and provider = $2 and sealed = $4 returning provider`,
      [owner, provider, yield* seal.seal(text, context), sealed]
    )
    return updated.length
  })

  const reseal = Effect.gen(function* () {
    let count = 0
    let last: SealedRow | undefined
    do {
      const rows: ReadonlyArray<SealedRow> = yield* query<SealedRow>(
        "ProviderKeyVault.reseal",
        `select owner, provider, sealed from ${schema}.provider_keys where (owner, provider) > ($1, $2) and provider not like '%:%'
           order by owner, provider limit ${pageOfKeys}`,
        [last?.owner ?? "", last?.provider ?? ""]
      )
      for (const row of rows) count += yield* resealOne(row)
      last = rows.at(-1)
    } while (last !== undefined)
    return count
  })

  const find = Effect.fnUntraced(function* (provider: string) {
    const { ownerId } = yield* Principal
    const [row] = yield* query<{ readonly sealed: Uint8Array }>(
      "ProviderKeys.find",
      `select sealed from ${schema}.provider_keys where owner = $1 and provider = $2`,
      [toText(ownerId), toText(provider)]
    )
    return row === undefined ? null : (yield* seal.open(row.sealed, sealingContext(ownerId, provider))).text
  })

  const vault = ProviderKeyVault.of({
    reseal,
    find,
    put: Effect.fnUntraced(function* (provider, key) {
      const { ownerId } = yield* Principal
      yield* query(
        "ProviderKeyVault.put",
        `insert into ${schema}.provider_keys (owner, provider, sealed) values ($1, $2, $3)
             on conflict (owner, provider) do update set sealed = excluded.sealed`,
        [toText(ownerId), toText(provider), yield* seal.seal(key, sealingContext(ownerId, provider))]
      )
    }),
    remove: (provider) =>
      own.finds("remove", `delete from ${schema}.provider_keys where owner = $1 and provider = $2 returning provider`, [
        toText(provider)
      ]),
    list: Effect.map(
      own.rows<{ readonly provider: string }>(
        "list",
        `select provider from ${schema}.provider_keys where owner = $1 and provider not like '%:%' order by provider`
      ),
      (rows) => rows.map((row) => fromText(row.provider))
    )
  })

  return Context.make(ProviderKeyVault, vault).pipe(Context.add(ProviderKeys, { find }))
})

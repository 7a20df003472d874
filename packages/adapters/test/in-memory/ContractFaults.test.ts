/**
 * What the contracts of stores say of a single fault. Each line is a fault in a store that is sound otherwise, and the case that finds it.
 * The same cases pass on the sound stores, in `Contracts.test.ts`.
 */
import { Principal } from "@colloquy/core"
import { FollowUpStore, type KeyRecord, KeyStore, RunStore } from "@colloquy/core/adapters"
import {
  DocumentStore,
  RetentionStore,
  ScheduleStore,
  SealedSecretStore,
  SessionStore,
  WebhookStore
} from "@colloquy/core/wings"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type ContractTest, type Sentence } from "../../../testing/src/contracts/ContractTest.ts"
import { documentStoreContract } from "../../../testing/src/contracts/DocumentStoreContract.ts"
import { followUpStoreContract } from "../../../testing/src/contracts/FollowUpStoreContract.ts"
import { keyStoreContract } from "../../../testing/src/contracts/KeyStoreContract.ts"
import { runQueueContract } from "../../../testing/src/contracts/RunQueueContract.ts"
import { retentionStoreContract } from "../../../testing/src/contracts/RetentionStoreContract.ts"
import { asNewOwner } from "../../../testing/src/contracts/Samples.ts"
import { scheduleStoreContract } from "../../../testing/src/contracts/ScheduleStoreContract.ts"
import { sealedSecretStoreContract } from "../../../testing/src/contracts/SealedSecretStoreContract.ts"
import { sessionStoreContract } from "../../../testing/src/contracts/SessionStoreContract.ts"
import { webhookStoreContract } from "../../../testing/src/contracts/WebhookStoreContract.ts"
import { InMemory } from "../../src/in-memory/index.ts"

type Cases = (test: ContractTest<InMemory.Stores>) => void

const finds = <Id extends InMemory.Stores, Store extends object>(
  port: Context.Service<Id, Store>,
  cases: Cases,
  faults: ReadonlyArray<readonly [what: string, change: (store: Store) => Partial<Store>, foundBy: string]>
) =>
  describe(`the contract of ${port.key.split("/").at(-1)} finds one that`, () => {
    for (const [what, change, foundBy] of faults) {
      it.effect(what, () =>
        Effect.gen(function* () {
          const found: Array<Parameters<Sentence<InMemory.Stores>>[1]> = []
          const take: Sentence<InMemory.Stores> = (title, body) => void (title.startsWith(foundBy) && found.push(body))
          cases(Object.assign(take, { withCapability: () => take }))
          const [body] = found
          if (body === undefined || found.length > 1)
            return assert.fail(`${found.length} cases begin with "${foundBy}"`)
          const faulty: Layer.Layer<InMemory.Stores> = Layer.effectContext(
            Effect.map(Layer.build(InMemory.layerFrom(InMemory.makeState())), (stores) => {
              const store = Context.get(stores, port)
              return Context.add(stores, port, { ...store, ...change(store) })
            })
          )
          const exit = yield* Effect.exit(asNewOwner(Effect.gen(body)).pipe(Effect.provide(faulty)))
          assert.isTrue(Exit.isFailure(exit), "It found nothing.")
        })
      )
    }
  })

finds(KeyStore, keyStoreContract, [
  [
    "finds a key by a shorter piece of its hash",
    (store) => {
      const records: Array<KeyRecord> = []
      return {
        insert: (record) => Effect.tap(store.insert(record), () => Effect.sync(() => records.push(record))),
        findByHashPrefix: (prefix) =>
          Effect.sync(() => Option.fromNullishOr(records.find(({ hash }) => hash.startsWith(prefix.slice(0, 8)))))
      }
    },
    "MUST find nothing by a hash that was never inserted"
  ]
])

finds(FollowUpStore, followUpStoreContract, [
  [
    "takes the end of work whose attempt has failed",
    (store) => ({ complete: (claim) => Effect.as(store.complete(claim), true) }),
    "MUST refuse every call under a claim whose attempt has failed"
  ],
  [
    "lists no dead ones",
    (store) => ({
      list: (kind, page) =>
        Effect.map(store.list(kind, page), (found) => found.filter(({ status }) => status !== "dead"))
    }),
    "MUST list the principal's follow-ups of a kind, newest first, in pages"
  ],
  [
    "claims in another order than that of the times",
    (store) => ({
      claim: (kinds, limit, duration, rules) =>
        Effect.map(store.claim(kinds, 100, duration, rules), (claims) =>
          claims.toSorted((a, b) => (a.followUp.key < b.followUp.key ? -1 : 1)).slice(0, limit)
        )
    }),
    "MUST claim first what is due the longest"
  ],
  [
    "counts the share of an owner over both priorities",
    (store) => ({
      claim: (kinds, limit, duration, rules) =>
        store.claim(
          kinds,
          limit,
          duration,
          rules && { ...rules, other: { ...rules.other, held: [...rules.other.held, ...rules.urgent.held] } }
        )
    }),
    "MUST count the share of an owner for each priority by itself"
  ],
  [
    "cancels dead ones",
    (store) => ({
      cancel: (kind, key) =>
        Effect.flatMap(store.find(kind, key), (found) =>
          Option.isSome(found) && found.value.status === "dead" ? Effect.succeed(true) : store.cancel(kind, key)
        )
    }),
    "MUST cancel an open follow-up, pending or running"
  ],
  [
    "says of open ones that it has revived them",
    (store) => ({
      revive: (id) => Effect.as(store.revive(id), true)
    }),
    "MUST list dead follow-ups, and revive each once"
  ],
  [
    "prunes without a limit",
    (store) => ({ prune: (before) => store.prune(before, 1000) }),
    "MUST prune follow-ups that were done before a time"
  ],
  [
    "prunes whatever is done",
    (store) => ({ prune: (_, limit) => store.prune(new Date(Date.UTC(2100, 0)), limit) }),
    "MUST prune follow-ups that were done before a time"
  ]
])

finds(DocumentStore, documentStoreContract, [
  [
    "names what nobody attends in another order than that of the times",
    (store) => ({
      unattended: (kind, limit) => Effect.map(store.unattended(kind, limit), (found) => found.toReversed())
    }),
    "MUST name what is processing without an open follow-up of the kind"
  ],
  [
    "does not return what it removes",
    (store) => ({ removeAll: (filter) => Effect.map(store.removeAll(filter), (found) => found.slice(1)) }),
    "MUST remove all documents of a thread, or of an assistant with its threads"
  ]
])

finds(RunStore, runQueueContract, [
  [
    "gives all runs in one page",
    (store) => ({ list: (threadId, page) => store.list(threadId, { ...page, limit: 1000 }) }),
    "MUST NOT repeat a run or leave one out from page to page"
  ]
])

finds(ScheduleStore, scheduleStoreContract, [
  [
    "gives more due times than asked for",
    (store) => ({ due: (now) => store.due(now, 100_000) }),
    "MUST let one of ten take a due time"
  ],
  [
    "gives due times as those of one owner",
    (store) => ({
      due: (now, limit) =>
        Effect.map(store.due(now, limit), (found) =>
          found.map(({ schedule }, _, [first]) => ({ schedule, ownerId: first!.ownerId }))
        )
    }),
    "MUST let one of ten take a due time"
  ],
  [
    "loses the last time when there is nothing to note",
    (store) => ({
      advance: (advance) =>
        store.advance({ ...advance, last: advance.last ?? { time: new Date(0), runId: null, error: null } })
    }),
    "MUST let one of ten take a due time"
  ],
  [
    "counts the schedules of an assistant alone",
    (store) => ({
      insert: (schedule, most, once) =>
        Effect.flatMap(store.list({ assistantId: schedule.assistantId, limit: 100 }), ({ length }) =>
          store.insert(schedule, length < most ? 100 : 0, once)
        )
    }),
    "MUST store nothing without the assistant, and no more than `most`"
  ],
  [
    "keeps the time zone of before",
    (store) => ({
      replace: (schedule) =>
        Effect.flatMap(store.get(schedule.id), (before) =>
          store.replace({ ...schedule, timezone: Option.getOrElse(before, () => schedule).timezone })
        )
    }),
    "MUST replace everything but the last time"
  ],
  [
    "begins again behind a schedule that is gone",
    (store) => ({
      list: ({ after, ...page }) =>
        Effect.flatMap(after === undefined ? Effect.succeedNone : store.get(after), (last) =>
          store.list(Option.isSome(last) ? { ...page, after: last.value.id } : page)
        )
    }),
    "MUST store a schedule equal in every field"
  ],
  [
    "notes no second end of a time",
    (store) => ({
      note: (id, last) =>
        Effect.flatMap(store.get(id), (found) =>
          Option.getOrUndefined(found)?.last?.time.getTime() === last.time.getTime()
            ? Effect.void
            : store.note(id, last)
        )
    }),
    "MUST keep what came of the latest time"
  ]
])

finds(WebhookStore, webhookStoreContract, [
  [
    "gives more owners than asked for",
    (store) => ({ owners: (after) => store.owners(after, 100) }),
    "MUST return the owners of all webhooks by rising marks"
  ],
  [
    "gives one owner for all of a page",
    (store) => ({
      owners: (after, limit) =>
        Effect.map(store.owners(after, limit), (found) =>
          found.map(({ mark }, _, [first]) => ({ mark, ownerId: first!.ownerId }))
        )
    }),
    "MUST return the owners of all webhooks by rising marks"
  ],
  [
    "begins again behind a delivery that is gone",
    (store) => ({
      listDeliveries: ({ after, ...page }) =>
        Effect.flatMap(after === undefined ? Effect.succeedNone : store.getDelivery(after), (last) =>
          store.listDeliveries(Option.isSome(last) ? { ...page, after: last.value.id } : page)
        )
    }),
    "MUST store a delivery once, with its follow-up"
  ],
  [
    "keeps the error of the attempt before",
    (store) => ({
      record: (outcome) =>
        Effect.flatMap(store.getDelivery(outcome.id), (found) =>
          store.record({ ...outcome, error: outcome.error ?? Option.getOrUndefined(found)?.error ?? null })
        )
    }),
    "MUST store what came of an attempt of this round"
  ]
])

const kept = "MUST keep records that are not older than the given time"

finds(
  RetentionStore,
  retentionStoreContract,
  (
    [
      ["logs", kept],
      ["idempotencyKeys", kept],
      ["deletedRuns", kept],
      ["chargeReceipts", kept],
      ["deadFollowUps", kept],
      ["learnedRuns", "MUST delete what is noted of a run's changes of memories, and not before its time"]
    ] as const
  ).map(([kind, sentence]) => [
    `deletes ${kind} of every age`,
    (store) => ({
      prune: (what, before, limit) => store.prune(what, what === kind ? new Date(Date.UTC(2200, 0)) : before, limit)
    }),
    sentence
  ])
)

/** Runs what a store does for one owner, whoever asks. */
const oneForAll = Principal.provide("everybody")
finds(SealedSecretStore, sealedSecretStoreContract, [
  [
    "has one secret of a name, of the last owner",
    (store) => {
      const owners = new Map<string, string>()
      return {
        find: (name) =>
          Effect.flatMap(Principal, ({ ownerId }) =>
            owners.get(name) === ownerId ? oneForAll(store.find(name)) : Effect.succeed(null)
          ),
        put: (name, sealed) =>
          Effect.flatMap(Principal, ({ ownerId }) => {
            owners.set(name, ownerId)
            return oneForAll(store.put(name, sealed))
          })
      }
    },
    "MUST give the principal's own secret, and replace it"
  ]
])

finds(SessionStore, sessionStoreContract, [
  [
    "counts the open sessions of all owners",
    (store) => {
      let open = 0
      return {
        open: (threadId, sessionId, options) =>
          Effect.tap(
            store.open(threadId, sessionId, {
              ...options,
              sessionsAtOnce: options.sessionsAtOnce === undefined ? null : Math.max(0, options.sessionsAtOnce! - open)
            }),
            ({ _tag }) => Effect.sync(() => void (options.sessionsAtOnce === undefined && _tag === "Opened" && open++))
          )
      }
    },
    "MUST open no more than `sessionsAtOnce` sessions of the principal"
  ]
])

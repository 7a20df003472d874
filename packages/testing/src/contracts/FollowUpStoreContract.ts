/** The contract of `FollowUpStore`. Several tests may share a database, so every test uses its own kind and claims nothing else. */
import { type OwnerId, Principal, ThreadId } from "@colloquy/core"
import {
  type ClaimRules,
  type FollowUpClaim,
  FollowUpId,
  FollowUpStore,
  type NewFollowUp,
  newId,
  RunStore
} from "@colloquy/core/adapters"
import { assert } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import type { ContractTest, Stores } from "./ContractTest.ts"
import { asNewOwner, awkwardJson, moment, sampleBegin, sampleSettlement } from "./Samples.ts"
import { anHour, expectTag, noTime, openThread, startTurn, tenTimes } from "./Scenes.ts"

const failed = { error: "The service said no.", pause: noTime, isCounted: true } as const

/** A follow-up of this kind. */
export const sampleFollowUp = (kind: string, fields: Partial<NewFollowUp> = {}): Effect.Effect<NewFollowUp> =>
  Effect.map(newId(FollowUpId), (id) => ({
    id,
    kind,
    key: id,
    payload: awkwardJson,
    sequence: null,
    delayMillis: 0,
    createdAt: moment(0),
    ...fields
  }))

/** A kind that no other test uses. */
const newKind = Effect.map(newId(FollowUpId), (id) => `kind-${id}`)

const addOne = Effect.fnUntraced(function* (kind: string, fields: Partial<NewFollowUp> = {}) {
  const followUp = yield* sampleFollowUp(kind, fields)
  yield* (yield* FollowUpStore).add([followUp])
  return followUp
})

const claimAll = (kind: string, duration = anHour) => FollowUpStore.use((store) => store.claim([kind], 100, duration))

const claimOne = Effect.fnUntraced(function* (kind: string, duration = anHour) {
  const [claim] = yield* claimAll(kind, duration)
  if (claim === undefined) throw new Error("Nothing was due.")
  return claim
})

const claimedKeys = (claims: ReadonlyArray<FollowUpClaim>) => claims.map(({ followUp }) => followUp.key)

export const followUpStoreContract = (test: ContractTest<FollowUpStore | Stores>): void => {
  test("MUST return a stored follow-up when it is claimed, with its owner and one attempt counted", function* () {
    const kind = yield* newKind
    const added = yield* addOne(kind)
    const { ownerId } = yield* Principal
    const { followUp } = yield* claimOne(kind)
    assert.deepStrictEqual(followUp, {
      id: added.id,
      ownerId,
      kind,
      key: added.key,
      payload: awkwardJson,
      sequence: null,
      isUrgent: false,
      status: "running",
      attempts: 1,
      lastError: null,
      createdAt: moment(0),
      endedAt: null
    })
  })

  test("MUST claim only the kinds that are asked for, oldest first, up to the limit", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    yield* addOne(yield* newKind)
    const keys = ["c", "a", "b"]
    yield* store.add(yield* Effect.forEach(keys, (key) => sampleFollowUp(kind, { key })))
    assert.deepStrictEqual(claimedKeys(yield* store.claim([kind], 2, anHour)), ["c", "a"])
    assert.deepStrictEqual(claimedKeys(yield* store.claim([kind], 2, anHour)), ["b"])
    assert.deepStrictEqual(yield* store.claim([], 2, anHour), [])
  })

  test("MUST give a follow-up to one of several concurrent claimers", function* () {
    const kind = yield* newKind
    yield* addOne(kind)
    const claims = (yield* tenTimes(claimAll(kind))).flat()
    assert.strictEqual(claims.length, 1)
  })

  test("MUST skip a follow-up whose kind and key are open already, and accept one after the first has ended", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const first = yield* addOne(kind, { key: "same" })
    yield* addOne(kind, { key: "same" })
    const claim = yield* claimOne(kind)
    assert.strictEqual(claim.followUp.id, first.id)
    yield* addOne(kind, { key: "same" })
    assert.deepStrictEqual(yield* claimAll(kind), [])
    // Another kind has keys of its own.
    const another = yield* addOne(yield* newKind, { key: "same" })
    assert.strictEqual((yield* claimOne(another.kind)).followUp.id, another.id)
    assert.isTrue(yield* store.complete(claim))
    const again = yield* addOne(kind, { key: "same" })
    assert.strictEqual((yield* claimOne(kind)).followUp.id, again.id)
  })

  test("MUST skip an id that is stored, in every status", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const added = yield* addOne(kind)
    assert.isTrue(yield* store.complete(yield* claimOne(kind)))
    yield* store.add([added])
    assert.deepStrictEqual(yield* claimAll(kind), [])
  })

  test("MUST keep two owners' follow-ups of one kind and key apart", function* () {
    const kind = yield* newKind
    yield* addOne(kind, { key: "same" })
    yield* asNewOwner(addOne(kind, { key: "same" }))
    assert.strictEqual((yield* claimAll(kind)).length, 2)
    const found = yield* asNewOwner(FollowUpStore.use((store) => store.find(kind, "same")))
    assert.isTrue(Option.isNone(found))
  })

  test("MUST do the follow-ups of one sequence one after the other, in the order in which they were stored", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const named = (key: string, sequence: string) => sampleFollowUp(kind, { key, sequence })
    yield* store.add([yield* named("1", "s"), yield* named("2", "s"), yield* named("other", "t")])
    const [first, other] = yield* claimAll(kind)
    assert.deepStrictEqual([first?.followUp.key, other?.followUp.key], ["1", "other"])
    assert.deepStrictEqual(yield* claimAll(kind), [])
    if (first === undefined) throw new Error("Nothing was due.")
    assert.isTrue(yield* store.fail(first, failed))
    const again = yield* claimOne(kind)
    assert.strictEqual(again.followUp.key, "1")
    assert.isTrue(yield* store.fail(again, { ...failed, pause: null }))
    assert.strictEqual((yield* claimOne(kind)).followUp.key, "2")
  })

  test("MUST NOT let an owner wait for the sequence of another owner", function* () {
    const kind = yield* newKind
    yield* addOne(kind, { sequence: "s" })
    yield* asNewOwner(addOne(kind, { sequence: "s" }))
    assert.strictEqual((yield* claimAll(kind)).length, 2)
  })

  test("MUST NOT claim a follow-up before its time", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    yield* addOne(kind, { delayMillis: 3_600_000 })
    assert.deepStrictEqual(yield* claimAll(kind), [])
    yield* addOne(kind)
    assert.isTrue(yield* store.fail(yield* claimOne(kind), { ...failed, pause: Duration.hours(1) }))
    assert.deepStrictEqual(yield* claimAll(kind), [])
  })

  test("MUST let another caller claim a follow-up whose claim has expired, and refuse later calls under the first claim", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    yield* addOne(kind)
    const first = yield* claimOne(kind, noTime)
    const second = yield* claimOne(kind)
    assert.strictEqual(second.followUp.attempts, 2)
    assert.deepStrictEqual(yield* store.renew([first], anHour), [first.followUp.id])
    assert.isFalse(yield* store.complete(first))
    assert.isFalse(yield* store.fail(first, failed))
    assert.deepStrictEqual(yield* store.renew([second], anHour), [])
    assert.isTrue(yield* store.complete(second))
  })

  test("MUST NOT claim what is done or dead, after its claim has expired", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    for (const key of ["done", "dead"]) yield* addOne(kind, { key })
    for (const claim of yield* claimAll(kind, noTime)) {
      const end = claim.followUp.key === "done" ? store.complete(claim) : store.fail(claim, { ...failed, pause: null })
      assert.isTrue(yield* end)
    }
    // The owner has a turn because of one that is not due yet.
    yield* addOne(kind, { delayMillis: 3_600_000 })
    assert.deepStrictEqual(yield* claimAll(kind), [])
  })

  test("MUST name every claim that is lost, among those that are kept", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    for (const key of ["1", "2", "3", "4"]) yield* addOne(kind, { key })
    const claims = yield* claimAll(kind)
    const lost = claims.filter((_, index) => index % 2 === 1)
    for (const claim of lost) yield* store.complete(claim)
    assert.sameMembers(
      [...(yield* store.renew(claims, anHour))],
      lost.map(({ followUp }) => followUp.id)
    )
  })

  test("MUST prolong a claim by renewing it", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    yield* addOne(kind)
    const claim = yield* claimOne(kind, noTime)
    assert.deepStrictEqual(yield* store.renew([claim], anHour), [])
    assert.deepStrictEqual(yield* claimAll(kind), [])
  })

  test("MUST answer true when a completion is repeated, and refuse a failure after it", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const { key } = yield* addOne(kind)
    const claim = yield* claimOne(kind)
    assert.isTrue(yield* store.complete(claim))
    assert.isTrue(yield* store.complete(claim))
    assert.isFalse(yield* store.fail(claim, failed))
    const found = Option.getOrThrow(yield* store.find(kind, key))
    assert.deepStrictEqual([found.status, found.endedAt === null], ["done", false])
  })

  test("MUST store the error of a failed attempt, and count the attempt only if it is to be counted", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const { key } = yield* addOne(kind)
    assert.isTrue(yield* store.fail(yield* claimOne(kind), failed))
    assert.isTrue(yield* store.fail(yield* claimOne(kind), { ...failed, isCounted: false }))
    const found = Option.getOrThrow(yield* store.find(kind, key))
    const { attempts, endedAt, lastError, status } = found
    assert.deepStrictEqual(
      { attempts, endedAt, lastError, status },
      {
        attempts: 1,
        endedAt: null,
        lastError: failed.error,
        status: "pending"
      }
    )
  })

  test("MUST refuse every call under a claim whose attempt has failed", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    yield* addOne(kind)
    for (const pause of [noTime, null]) {
      const claim = yield* claimOne(kind)
      assert.isTrue(yield* store.fail(claim, { ...failed, pause }))
      assert.isFalse(yield* store.complete(claim))
      assert.isFalse(yield* store.fail(claim, failed))
      assert.deepStrictEqual(yield* store.renew([claim], anHour), [claim.followUp.id])
    }
  })

  test("MUST claim from the owners in turns, from one call to the next, and of one owner what is due the longest", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const add = (keys: ReadonlyArray<string>) =>
      Effect.flatMap(
        Effect.forEach(keys, (key) => sampleFollowUp(kind, { key })),
        store.add
      )
    yield* add(["a1", "a2", "a3", "a4", "a5"])
    yield* asNewOwner(add(["b1", "b2"]))
    yield* asNewOwner(add(["c1"]))
    const claimed: Array<string> = []
    for (let call = 0; call < 3; call++) claimed.push(...claimedKeys(yield* store.claim([kind], 1, anHour)))
    assert.sameMembers(claimed, ["a1", "b1", "c1"])
    claimed.push(...claimedKeys(yield* store.claim([kind], 2, anHour)))
    assert.sameMembers(claimed.slice(3), ["a2", "b2"])
    assert.deepStrictEqual(claimedKeys(yield* claimAll(kind)), ["a3", "a4", "a5"])
  })

  test.withCapability("testClock")("MUST claim first what is due the longest, not what was stored first", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    yield* addOne(kind, { key: "later", delayMillis: 2000 })
    yield* addOne(kind, { key: "sooner", delayMillis: 1000 })
    yield* TestClock.adjust("3 seconds")
    assert.deepStrictEqual(claimedKeys(yield* store.claim([kind], 1, anHour)), ["sooner"])
  })

  test.withCapability("testClock")("MUST count one whose claim has expired as due since then", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    yield* addOne(kind, { key: "claimed" })
    yield* claimAll(kind, Duration.seconds(2))
    yield* addOne(kind, { key: "new", delayMillis: 1000 })
    yield* TestClock.adjust("3 seconds")
    assert.deepStrictEqual(claimedKeys(yield* store.claim([kind], 1, anHour)), ["new"])
  })

  test("MUST give every owner as many claims as the others, wherever the turns go on", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const add = Effect.forEach([1, 2, 3, 4, 5, 6, 7], () => addOne(kind))
    yield* add
    for (let other = 0; other < 2; other++) yield* asNewOwner(add)
    for (let turn = 0; turn < 3; turn++) {
      yield* store.claim([kind], 1, anHour)
      const claims = yield* store.claim([kind], 6, anHour)
      const shares = Map.groupBy(claims, ({ followUp }) => followUp.ownerId)
      assert.deepStrictEqual(
        [...shares.values()].map(({ length }) => length),
        [2, 2, 2]
      )
    }
  })

  test("MUST claim urgent follow-ups before all others", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    yield* addOne(kind, { key: "bulk" })
    yield* asNewOwner(addOne(kind, { key: "theirs" }))
    yield* asNewOwner(addOne(kind, { key: "waited for", isUrgent: true }))
    const [first] = yield* store.claim([kind], 1, anHour)
    assert.deepInclude(first?.followUp, { key: "waited for", isUrgent: true })
    assert.sameMembers(claimedKeys(yield* claimAll(kind)), ["bulk", "theirs"])
  })

  test("MUST keep to the rules: places of each priority, the share of an owner, and how many suspects", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const { ownerId } = yield* Principal
    const lane = (limit: number, held: ReadonlyArray<OwnerId> = []) => ({ limit, held })
    const claim = (rules: Partial<ClaimRules>, duration = anHour) =>
      Effect.map(
        store.claim([kind], 100, duration, { urgent: lane(9), other: lane(9), share: 9, suspects: 9, ...rules }),
        claimedKeys
      )
    for (const key of ["a1", "a2", "a3"]) yield* addOne(kind, { key })
    yield* addOne(kind, { key: "u", isUrgent: true })
    yield* asNewOwner(addOne(kind, { key: "b" }))
    assert.deepStrictEqual(yield* claim({ urgent: lane(0), other: lane(0) }), [])
    assert.deepStrictEqual(yield* claim({ other: lane(0) }), ["u"])
    assert.sameMembers(yield* claim({ other: lane(9, [ownerId]), share: 2 }), ["a1", "b"])
    assert.deepStrictEqual(yield* claim({ other: lane(9, [ownerId, ownerId]), share: 2 }), [])

    assert.deepStrictEqual(yield* claim({}, noTime), ["a2", "a3"])
    assert.deepStrictEqual(yield* claim({ suspects: 0 }, noTime), ["a2", "a3"])
    assert.deepStrictEqual(yield* claim({ suspects: 0 }, noTime), [])
    // One that is no suspect takes no place of theirs.
    yield* addOne(kind, { key: "new", isUrgent: true })
    const [urgent, ...others] = yield* claim({ suspects: 1 })
    assert.deepStrictEqual([urgent, others.length], ["new", 1])
    // Nor does one whose attempts have failed.
    const failing = yield* addOne(kind)
    for (let attempt = 1; attempt < 3; attempt++) {
      for (const each of yield* claimAll(kind)) yield* store.fail(each, failed)
    }
    assert.include(yield* claim({ suspects: 0 }), failing.key)
  })

  test("MUST count the share of an owner for each priority by itself", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const { ownerId } = yield* Principal
    const claim = (urgentHeld: ReadonlyArray<OwnerId>) =>
      store.claim([kind], 100, anHour, {
        urgent: { limit: 9, held: urgentHeld },
        other: { limit: 9, held: [] },
        share: 1,
        suspects: 9
      })
    for (const key of ["a1", "a2"]) yield* addOne(kind, { key })
    for (const key of ["u1", "u2"]) yield* addOne(kind, { key, isUrgent: true })
    assert.deepStrictEqual(claimedKeys(yield* claim([ownerId])), ["a1"])
    assert.deepStrictEqual(claimedKeys(yield* claim([])), ["u1", "a2"])
  })

  test("MUST say of a claim whether an earlier one has expired", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    yield* addOne(kind)
    assert.isFalse((yield* claimOne(kind, noTime)).isRetaken)
    const again = yield* claimOne(kind)
    assert.isTrue(again.isRetaken)
    assert.isTrue(yield* store.fail(again, failed))
    assert.isFalse((yield* claimOne(kind)).isRetaken)
  })

  test("MUST list the principal's follow-ups of a kind, newest first, in pages", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    for (const key of ["a", "b", "c"]) yield* addOne(kind, { key })
    yield* asNewOwner(addOne(kind, { key: "theirs" }))
    for (const claim of yield* claimAll(kind)) {
      if (claim.followUp.key === "a") yield* store.complete(claim)
      if (claim.followUp.key === "b") yield* store.fail(claim, { ...failed, pause: null })
    }
    const listed = (skip: number, limit: number) =>
      Effect.map(store.list(kind, { skip, limit }), (found) => found.map(({ key }) => key))
    assert.deepStrictEqual(yield* listed(0, 2), ["c", "b"])
    assert.deepStrictEqual(yield* listed(2, 2), ["a"])
    assert.deepStrictEqual(
      (yield* store.list(kind, { skip: 0, limit: 9 })).map(({ status }) => status),
      ["running", "dead", "done"]
    )
    assert.deepStrictEqual(yield* store.list(yield* newKind, { skip: 0, limit: 2 }), [])
  })

  test("MUST cancel an open follow-up, pending or running, and let its sequence go on; none that is at rest or another owner's", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    for (const key of ["1", "2", "3"]) yield* addOne(kind, { key, sequence: "s" })
    assert.isFalse(yield* asNewOwner(store.cancel(kind, "1")))
    assert.isFalse(yield* store.cancel(yield* newKind, "1"))
    assert.isFalse(yield* store.cancel(kind, "4"))
    const first = yield* claimOne(kind)
    assert.isTrue(yield* store.cancel(kind, "1"))
    assert.isFalse(yield* store.cancel(kind, "1"))
    assert.deepStrictEqual(yield* store.renew([first], anHour), [first.followUp.id])
    assert.isFalse(yield* store.complete(first))
    assert.isTrue(yield* store.cancel(kind, "2"))
    const third = yield* claimOne(kind)
    assert.strictEqual(third.followUp.key, "3")
    assert.isTrue(yield* store.complete(third))
    assert.isFalse(yield* store.cancel(kind, "3"))
    const dead = yield* addOne(yield* newKind)
    yield* store.fail(yield* claimOne(dead.kind), { ...failed, pause: null })
    assert.isFalse(yield* store.cancel(dead.kind, dead.key))
    assert.deepStrictEqual(
      (yield* store.list(kind, { skip: 0, limit: 9 })).map(({ key, status }) => [key, status]),
      [["3", "done"]]
    )
  })

  test("MUST list many follow-ups in pages, each once", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const keys = Array.from({ length: 120 }, (_, at) => `${at}`)
    yield* store.add(yield* Effect.forEach(keys, (key) => sampleFollowUp(kind, { key })))
    const pages = yield* Effect.forEach([0, 50, 100, 150], (skip) => store.list(kind, { skip, limit: 50 }))
    assert.deepStrictEqual(
      pages.map((page) => page.length),
      [50, 50, 20, 0]
    )
    assert.deepStrictEqual(
      pages.flat().map(({ key }) => key),
      keys.toReversed()
    )
  })

  test("MUST cancel a follow-up once, and let it either be cancelled or end when both happen at the same moment", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    yield* addOne(kind, { key: "twice" })
    const answers = yield* tenTimes(store.cancel(kind, "twice"))
    assert.strictEqual(answers.filter((isCancelled) => isCancelled).length, 1)
    for (let round = 0; round < 5; round++) {
      yield* addOne(kind, { key: "both" })
      const claim = yield* claimOne(kind)
      const ends = yield* Effect.all([store.cancel(kind, "both"), store.complete(claim)], { concurrency: "unbounded" })
      assert.strictEqual(ends.filter((isTrue) => isTrue).length, 1)
      yield* addOne(kind, { key: "both" })
      const [isCancelled, claims] = yield* Effect.all([store.cancel(kind, "both"), claimAll(kind)], {
        concurrency: "unbounded"
      })
      assert.isTrue(isCancelled)
      assert.deepStrictEqual(
        yield* store.renew(claims, anHour),
        claims.map(({ followUp }) => followUp.id)
      )
    }
  })

  test("MUST cancel one in the middle of a sequence, and one whose claim has expired", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    for (const key of ["1", "2", "3"]) yield* addOne(kind, { key, sequence: "s" })
    const first = yield* claimOne(kind)
    assert.isTrue(yield* store.cancel(kind, "2"))
    assert.deepStrictEqual(yield* claimAll(kind), [])
    assert.isTrue(yield* store.complete(first))
    assert.strictEqual((yield* claimOne(kind, noTime)).followUp.key, "3")
    assert.isTrue(yield* store.cancel(kind, "3"))
    assert.deepStrictEqual(yield* claimAll(kind), [])
  })

  test("MUST go on with a sequence when its first is done, dead or revived, whoever stores the next at the same moment", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const total = 30
    const adding = Effect.forEach(
      Array.from({ length: total }, (_, at) => `${at}`),
      (key) => addOne(kind, { key, sequence: "s" })
    )
    const done: Array<string> = []
    const working = Effect.gen(function* () {
      while (done.length < total) {
        for (const claim of yield* claimAll(kind)) {
          done.push(claim.followUp.key)
          const isDead = done.length % 3 === 0
          assert.isTrue(yield* isDead ? store.fail(claim, { ...failed, pause: null }) : store.complete(claim))
        }
      }
    })
    yield* Effect.all([adding, working], { concurrency: "unbounded" })
    assert.deepStrictEqual(
      done,
      Array.from({ length: total }, (_, at) => `${at}`)
    )
  })

  test("MUST list dead follow-ups, and revive each once", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const { id, key } = yield* addOne(kind)
    assert.isFalse(yield* store.revive(id))
    const first = yield* claimOne(kind)
    assert.isFalse(yield* store.revive(id))
    assert.isTrue(yield* store.fail(first, { ...failed, pause: null }))
    assert.deepStrictEqual(yield* claimAll(kind), [])
    const newest = yield* store.dead({ skip: 0, limit: 100 })
    assert.include(
      newest.map((each) => each.id),
      id
    )
    assert.isTrue(newest.every((each) => each.status === "dead" && each.endedAt !== null))
    const later = yield* addOne(kind)
    assert.isTrue(yield* store.fail(yield* claimOne(kind), { ...failed, pause: null }))
    const both = (yield* store.dead({ skip: 0, limit: 100 })).filter((each) => each.kind === kind)
    assert.deepStrictEqual(
      both.map((each) => each.id),
      [later.id, id]
    )
    assert.lengthOf(yield* store.dead({ skip: 0, limit: 1 }), 1)
    assert.notInclude(
      (yield* store.dead({ skip: 1, limit: 100 })).map((each) => each.id),
      later.id
    )
    assert.isTrue(yield* store.revive(later.id))
    assert.isTrue(yield* store.complete(yield* claimOne(kind)))
    assert.isFalse(yield* store.revive(later.id))
    assert.isTrue(yield* store.revive(id))
    assert.isFalse(yield* store.revive(id))
    const found = Option.getOrThrow(yield* store.find(kind, key))
    assert.deepStrictEqual([found.status, found.attempts, found.endedAt], ["pending", 0, null])
    assert.strictEqual((yield* claimOne(kind)).followUp.attempts, 1)
  })

  test("MUST NOT revive a dead follow-up while another one of its kind and key is open", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const dead = yield* addOne(kind, { key: "same" })
    assert.isTrue(yield* store.fail(yield* claimOne(kind), { ...failed, pause: null }))
    const open = yield* addOne(kind, { key: "same" })
    assert.isFalse(yield* store.revive(dead.id))
    const claim = yield* claimOne(kind)
    assert.strictEqual(claim.followUp.id, open.id)
    assert.isTrue(yield* store.complete(claim))
    assert.isTrue(yield* store.revive(dead.id))
    assert.strictEqual((yield* claimOne(kind)).followUp.id, dead.id)
  })

  test("MUST revive one of several with one kind and key, also when all are revived at once", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const dead: Array<FollowUpId> = []
    for (let count = 0; count < 8; count++) {
      dead.push((yield* addOne(kind, { key: "same" })).id)
      assert.isTrue(yield* store.fail(yield* claimOne(kind), { ...failed, pause: null }))
    }
    for (let round = 0; round < 20; round++) {
      const revived = yield* Effect.forEach(dead, (id) => store.revive(id), { concurrency: "unbounded" })
      assert.lengthOf(revived.filter(Boolean), 1)
      const claim = yield* claimOne(kind)
      assert.strictEqual(claim.followUp.id, dead[revived.indexOf(true)])
      assert.isTrue(yield* store.fail(claim, { ...failed, pause: null }))
    }
  })

  test("MUST find the newest follow-up of a kind and key", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    yield* addOne(kind, { key: "same" })
    yield* store.complete(yield* claimOne(kind))
    const second = yield* addOne(kind, { key: "same" })
    assert.strictEqual(Option.getOrThrow(yield* store.find(kind, "same")).id, second.id)
    assert.isTrue(Option.isNone(yield* store.find(kind, "another")))
    assert.isTrue(Option.isNone(yield* store.find(yield* newKind, "same")))
  })

  test("MUST store the follow-ups of a settlement with it, once, and none of a refused settlement", function* () {
    const store = yield* FollowUpStore
    const runs = yield* RunStore
    const kind = yield* newKind
    const turn = yield* startTurn((yield* openThread).id)
    const followUps = yield* Effect.forEach(["a", "b"], (key) => sampleFollowUp(kind, { key }))
    const lost = { ...turn.lease, token: turn.lease.token + 1 }
    const settlement = yield* sampleSettlement(turn, { followUps })
    assert.isFalse(yield* runs.settle(lost, settlement))
    assert.deepStrictEqual(yield* claimAll(kind), [])
    assert.isTrue(yield* runs.settle(turn.lease, settlement))
    assert.isTrue(yield* runs.settle(turn.lease, settlement))
    const claims = yield* claimAll(kind)
    assert.deepStrictEqual(claimedKeys(claims), ["a", "b"])
    const { ownerId } = yield* Principal
    assert.deepStrictEqual(
      claims.map(({ followUp }) => [followUp.ownerId, followUp.payload]),
      [
        [ownerId, awkwardJson],
        [ownerId, awkwardJson]
      ]
    )
    for (const claim of claims) yield* store.complete(claim)
    assert.isTrue(yield* runs.settle(turn.lease, settlement))
    assert.deepStrictEqual(yield* claimAll(kind), [])
  })

  test("MUST store the follow-ups of a saved message with it, and none of a refused begin", function* () {
    const runs = yield* RunStore
    const kind = yield* newKind
    const { id } = yield* openThread
    const begin = yield* sampleBegin(id, { saves: true, followUps: [yield* sampleFollowUp(kind, { key: "a" })] })
    const elsewhere = { ...begin.run, threadId: yield* newId(ThreadId) }
    expectTag(yield* runs.begin({ ...begin, run: elsewhere }), "ThreadMissing")
    assert.deepStrictEqual(yield* claimAll(kind), [])
    expectTag(yield* runs.begin(begin), "Saved")
    assert.deepStrictEqual(claimedKeys(yield* claimAll(kind)), ["a"])
  })

  test("MUST prune follow-ups that were done before a time, and none that is open or dead", function* () {
    const store = yield* FollowUpStore
    const kind = yield* newKind
    const done = yield* addOne(kind)
    yield* addOne(kind)
    for (const claim of yield* claimAll(kind)) yield* store.complete(claim)
    assert.strictEqual(yield* store.prune(new Date(0), 1000), 0)
    assert.isTrue(Option.isSome(yield* store.find(kind, done.key)))
    const dead = yield* addOne(kind)
    yield* store.fail(yield* claimOne(kind), { ...failed, pause: null })
    const open = yield* addOne(kind)
    assert.strictEqual(yield* store.prune(new Date(Date.UTC(2100, 0)), 1), 1)
    while ((yield* store.prune(new Date(Date.UTC(2100, 0)), 1000)) > 0) continue
    const left = yield* Effect.forEach([done, dead, open], ({ key }) => store.find(kind, key))
    assert.deepStrictEqual(left.map(Option.isSome), [false, true, true])
  })
}

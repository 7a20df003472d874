/** What the runner of follow-ups promises over any store, in virtual time. */
import { InMemory } from "@colloquy/adapters/in-memory"
import { FollowUpFailed, FollowUps, FollowUpSettings, Principal, StoreUnavailable } from "@colloquy/core"
import { FollowUpStore, type FollowUpWorker } from "@colloquy/core/adapters"
import { sampleFollowUp } from "@colloquy/testing/contracts"
import { TestKernel } from "@colloquy/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

const runner = FollowUps.layer.pipe(
  Layer.provideMerge(Layer.unwrap(Effect.sync(() => InMemory.layerFrom(InMemory.makeState()))))
)

const test = <E>(title: string, body: Effect.Effect<void, E, FollowUps | FollowUpStore | Principal | Scope.Scope>) =>
  it.effect(title, () => body.pipe(Principal.provide("ada"), Effect.provide([runner, Logger.layer([])])))

const worker = (run: FollowUpWorker["run"], giveUp?: FollowUpWorker["giveUp"]): FollowUpWorker => ({
  kind: "learn",
  run,
  ...(giveUp === undefined ? {} : { giveUp })
})

const add = Effect.fnUntraced(function* (key: string, sequence: string | null = null) {
  yield* (yield* FollowUps).add([yield* sampleFollowUp("learn", { key, sequence })])
})

const storedState = Effect.fnUntraced(function* (key: string) {
  const { attempts, lastError, status } = Option.getOrThrow(yield* (yield* FollowUps).find("learn", key))
  return { attempts, lastError, status }
})

const settle = TestClock.adjust("1 millis")

/** The store below it, with some methods of its own. */
const changed = (change: (store: typeof FollowUpStore.Service) => Partial<typeof FollowUpStore.Service>) =>
  Layer.effect(
    FollowUpStore,
    FollowUpStore.useSync((store) => FollowUpStore.of({ ...store, ...change(store) }))
  )

describe("FollowUps", () => {
  test(
    "reads a payload by its schema; one that this version cannot read is dead after one attempt and stays to be looked at",
    Effect.gen(function* () {
      const followUps = yield* FollowUps
      const done: Array<string> = []
      const audit = FollowUps.worker({
        kind: "learn",
        payload: Schema.Struct({ said: Schema.String }),
        run: ({ said }, { key }) => Effect.sync(() => done.push(`${key} ${said}`))
      })
      yield* Layer.build(audit)
      yield* followUps.add([
        yield* sampleFollowUp("learn", { key: "a", payload: { said: "yes" } }),
        yield* sampleFollowUp("learn", { key: "b", payload: { heard: 1 } })
      ])
      yield* settle
      assert.deepStrictEqual(done, ["a yes"])
      assert.deepStrictEqual(yield* storedState("b"), {
        attempts: 1,
        lastError: "This version cannot read the payload of the follow-up. Run it with the version that stored it.",
        status: "dead"
      })
      const [dead] = yield* followUps.dead({ skip: 0, limit: 10 })
      assert.deepStrictEqual(dead?.payload, { heard: 1 })
    })
  )

  test(
    "does an owner's first work within seconds, however many others have work that takes long, and only the first",
    Effect.gen(function* () {
      const begun: Array<string> = []
      yield* (yield* FollowUps).register(
        worker(({ key }) =>
          Effect.andThen(
            Effect.sync(() => void begun.push(key)),
            key.startsWith("bulk") ? Effect.never : Effect.void
          )
        )
      )
      for (const owner of ["a", "b", "c"]) {
        for (let at = 0; at < 9; at++) yield* add(`bulk of ${owner} ${at}`).pipe(Principal.provide(owner))
      }
      yield* settle
      assert.lengthOf(begun, 5)
      for (const owner of ["d", "e"]) yield* add(`small of ${owner}`).pipe(Principal.provide(owner))
      yield* TestClock.adjust("5 seconds")
      assert.includeMembers(begun, ["small of d", "small of e"])
      yield* TestClock.adjust("1 minute")
      // Those who have work under way got no place more.
      assert.lengthOf(begun, 7)
    })
  )

  test(
    "does what is added at once, on behalf of its owner",
    Effect.gen(function* () {
      const followUps = yield* FollowUps
      const done: Array<string> = []
      yield* followUps.register(
        worker(({ key }) => Effect.map(Principal, ({ ownerId }) => void done.push(`${ownerId} ${key}`)))
      )
      yield* add("a")
      yield* settle
      assert.deepStrictEqual(done, ["ada a"])
      assert.deepStrictEqual(yield* storedState("a"), { attempts: 1, lastError: null, status: "done" })
    })
  )

  test(
    "finds at its next look what another process stored",
    Effect.gen(function* () {
      const done: Array<string> = []
      yield* (yield* FollowUps).register(worker(({ key }) => Effect.sync(() => void done.push(key))))
      yield* settle
      yield* (yield* FollowUpStore).add([yield* sampleFollowUp("learn", { key: "a" })])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(done, ["a"])
    })
  )

  test(
    "tries again after pauses that double, then tells the worker and keeps it as dead",
    Effect.gen(function* () {
      const followUps = yield* FollowUps
      const tried: Array<number> = []
      const given: Array<string> = []
      const start = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      yield* followUps.register(
        worker(
          () =>
            Effect.gen(function* () {
              tried.push((yield* Effect.clockWith((clock) => clock.currentTimeMillis)) - start)
              return yield* new FollowUpFailed({ message: "The service said no.", isRetryable: true })
            }),
          ({ key }, error) => Effect.sync(() => void given.push(`${key}: ${error}`))
        )
      )
      yield* add("a")
      for (let second = 0; second < 60; second++) yield* TestClock.adjust("1 second")
      assert.strictEqual(tried.length, 5)
      // A pause ends at the latest with the store's next look.
      const pauses = tried.slice(1).map((time, index) => time - (tried[index] ?? 0))
      pauses.forEach((pause, index) => assert.isAtLeast(pause, 1000 * 2 ** index))
      assert.deepStrictEqual(given, ["a: The service said no."])
      assert.deepStrictEqual(yield* storedState("a"), {
        attempts: 5,
        lastError: "The service said no.",
        status: "dead"
      })
      const [dead] = yield* followUps.dead({ skip: 0, limit: 10 })
      if (dead === undefined) throw new Error("Nothing is dead.")
      yield* followUps.revive(dead.id)
      yield* settle
      assert.strictEqual(tried.length, 6)
      const gone = yield* Effect.flip(followUps.revive(dead.id))
      assert.strictEqual(gone._tag, "FollowUpNotFound")
    })
  )

  test(
    "gives up at once what another attempt cannot mend",
    Effect.gen(function* () {
      yield* (yield* FollowUps).register(
        worker(() => Effect.fail(new FollowUpFailed({ message: "The file is broken.", isRetryable: false })))
      )
      yield* add("a")
      yield* settle
      assert.deepStrictEqual(yield* storedState("a"), { attempts: 1, lastError: "The file is broken.", status: "dead" })
    })
  )

  test(
    "waits for a service that is away, however long it lasts",
    Effect.gen(function* () {
      let isAway = true
      yield* (yield* FollowUps).register(
        worker(() => (isAway ? Effect.fail(new StoreUnavailable({ operation: "embed" })) : Effect.void))
      )
      yield* add("a")
      for (let minute = 0; minute < 120; minute++) yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* storedState("a")).status, "pending")
      isAway = false
      yield* TestClock.adjust("6 minutes")
      assert.deepStrictEqual(yield* storedState("a"), { attempts: 1, lastError: null, status: "done" })
    })
  )

  test(
    "survives a worker that breaks, and says nothing of the defect in the record",
    Effect.gen(function* () {
      yield* (yield* FollowUps).register(worker(() => Effect.die(new Error("secret of a conversation"))))
      yield* add("a")
      yield* settle
      const { lastError, status } = yield* storedState("a")
      assert.strictEqual(status, "pending")
      assert.notInclude(lastError, "secret")
    })
  )

  test(
    "does the follow-ups of a sequence one after the other",
    Effect.gen(function* () {
      const seen: Array<string> = []
      yield* (yield* FollowUps).register(
        worker(({ key }) =>
          Effect.sync(() => seen.push(`begin ${key}`)).pipe(
            Effect.andThen(Effect.sleep("1 second")),
            Effect.andThen(Effect.sync(() => void seen.push(`end ${key}`)))
          )
        )
      )
      for (const key of ["a", "b"]) yield* add(key, "one")
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(seen, ["begin a", "end a", "begin b", "end b"])
    })
  )

  it.effect("keeps its claim while the work lasts, and hands it over at once when its process stops", () =>
    Effect.gen(function* () {
      const store = InMemory.layerFrom(InMemory.makeState())
      const started: Array<string> = []
      const longWork = (name: string) =>
        worker(() =>
          Effect.andThen(
            Effect.sync(() => void started.push(name)),
            Effect.sleep("10 minutes")
          )
        )
      const open = Effect.fnUntraced(function* (name: string) {
        const scope = yield* Scope.fork(yield* Scope.Scope)
        const services = yield* Layer.buildWithScope(
          Layer.fresh(FollowUps.layer.pipe(Layer.provideMerge(store))),
          scope
        )
        yield* FollowUps.use((followUps) => followUps.register(longWork(name))).pipe(
          Effect.provideContext(services),
          Scope.provide(scope)
        )
        return { scope, services }
      })
      const first = yield* open("first")
      yield* Effect.provideContext(add("a"), first.services)
      yield* settle
      const second = yield* open("second")
      for (let minute = 0; minute < 5; minute++) yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(started, ["first"])
      yield* Scope.close(first.scope, Exit.void)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(started, ["first", "second"])
      assert.strictEqual((yield* Effect.provideContext(storedState("a"), second.services)).attempts, 1)
    }).pipe(Principal.provide("ada"), Effect.provide(Logger.layer([])))
  )

  const hours = Effect.fnUntraced(function* (count: number) {
    for (let minute = 0; minute < count * 60; minute++) yield* TestClock.adjust("1 minute")
  })
  const stuck = Effect.uninterruptible(Effect.never)

  test(
    "gives up an attempt that never ends, does other work meanwhile, and keeps it as dead in the end",
    Effect.gen(function* () {
      const done: Array<string> = []
      yield* (yield* FollowUps).register(
        worker(({ key }) => (key === "stuck" ? stuck : Effect.sync(() => void done.push(key))))
      )
      yield* add("stuck")
      yield* settle
      yield* add("other")
      yield* settle
      assert.deepStrictEqual(done, ["other"])
      yield* hours(2)
      assert.deepInclude(yield* storedState("stuck"), { attempts: 1, lastError: "The work did not end within 2h." })
      yield* hours(9)
      assert.deepInclude(yield* storedState("stuck"), { attempts: 5, status: "dead" })
    })
  )

  test(
    "counts an attempt that interrupts itself as failed",
    Effect.gen(function* () {
      let tried = 0
      yield* (yield* FollowUps).register(
        worker(() =>
          Effect.suspend(() => {
            tried += 1
            return Effect.interrupt
          })
        )
      )
      yield* add("a")
      for (let second = 0; second < 60; second++) yield* TestClock.adjust("1 second")
      assert.strictEqual(tried, 5)
      assert.deepInclude(yield* storedState("a"), { attempts: 5, status: "dead" })
    })
  )

  /** Claims as a process would that dies with the work. */
  const die = Effect.fnUntraced(function* (times: number) {
    const store = yield* FollowUpStore
    for (let died = 0; died < times; died++) yield* store.claim(["learn"], 1, Duration.zero)
  })

  test(
    "gives up work whose process died at each attempt, without another one, and tells the worker",
    Effect.gen(function* () {
      const tried: Array<string> = []
      const told: Array<string> = []
      yield* add("a")
      yield* die(5)
      yield* (yield* FollowUps).register(
        worker(
          ({ key }) => Effect.sync(() => void tried.push(key)),
          ({ key }, error) => Effect.sync(() => void told.push(`${key}: ${error}`))
        )
      )
      yield* settle
      const { lastError, ...state } = yield* storedState("a")
      assert.deepStrictEqual(state, { attempts: 5, status: "dead" })
      assert.include(lastError, "ended or hung each time")
      assert.deepStrictEqual(told, [`a: ${lastError}`])
      assert.deepStrictEqual(tried, [])
    })
  )

  test(
    "tries work whose process died once more while it has attempts left",
    Effect.gen(function* () {
      yield* add("a")
      yield* die(4)
      yield* (yield* FollowUps).register(worker(() => Effect.void))
      yield* settle
      assert.deepInclude(yield* storedState("a"), { attempts: 5, status: "done" })
    })
  )

  test(
    "does not even tell the worker when processes died of telling it",
    Effect.gen(function* () {
      const told: Array<string> = []
      yield* add("a")
      yield* die(10)
      yield* (yield* FollowUps).register(
        worker(
          () => Effect.die("It was tried again."),
          ({ key }) => Effect.sync(() => void told.push(key))
        )
      )
      yield* settle
      assert.deepInclude(yield* storedState("a"), { status: "dead" })
      assert.deepStrictEqual(told, [])
    })
  )

  const asOwner = <A, E, R>(owner: string, effect: Effect.Effect<A, E, R>) => effect.pipe(Principal.provide(owner))

  test(
    "leaves places for other owners and for urgent work, however much one owner orders",
    Effect.gen(function* () {
      const followUps = yield* FollowUps
      const started: Array<string> = []
      yield* followUps.register(
        worker(({ key, ownerId }) =>
          Effect.andThen(
            Effect.sync(() => void started.push(`${ownerId} ${key}`)),
            Effect.never
          )
        )
      )
      for (let each = 0; each < 9; each++) yield* add(`${each}`)
      yield* settle
      assert.deepStrictEqual(started, ["ada 0", "ada 1", "ada 2", "ada 3"])
      for (let each = 0; each < 9; each++) yield* asOwner("bob", add(`${each}`))
      yield* settle
      assert.deepStrictEqual(started.slice(4), ["bob 0"])
      yield* asOwner(
        "eve",
        Effect.flatMap(sampleFollowUp("learn", { key: "waited for", isUrgent: true }), (urgent) =>
          followUps.add([urgent])
        )
      )
      yield* settle
      assert.deepStrictEqual(started.slice(5), ["eve waited for"])
    })
  )

  test(
    "does what was abandoned twice one at a time, so that it takes no other work with it",
    Effect.gen(function* () {
      const started: Array<string> = []
      for (const key of ["a", "b", "c"]) yield* add(key)
      const store = yield* FollowUpStore
      for (let died = 0; died < 2; died++) yield* store.claim(["learn"], 3, Duration.zero)
      yield* (yield* FollowUps).register(
        worker(({ key }) =>
          Effect.andThen(
            Effect.sync(() => void started.push(key)),
            Effect.sleep("1 second")
          )
        )
      )
      yield* settle
      assert.deepStrictEqual(started, ["a"])
      yield* add("new")
      yield* settle
      assert.deepStrictEqual(started, ["a", "new"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(started, ["a", "new", "b"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(started, ["a", "new", "b", "c"])
    })
  )

  test(
    "cancels work that waits and work that is under way",
    Effect.gen(function* () {
      const followUps = yield* FollowUps
      const ended: Array<string> = []
      yield* followUps.register(
        worker(({ key }) => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void ended.push(key))))
      )
      yield* add("a", "one")
      yield* add("b", "one")
      yield* settle
      assert.isTrue(yield* followUps.cancel("learn", "b"))
      assert.isTrue(yield* followUps.cancel("learn", "a"))
      yield* settle
      assert.deepStrictEqual(ended, ["a"])
      assert.deepStrictEqual(yield* followUps.list("learn", { skip: 0, limit: 10 }), [])
      assert.isFalse(yield* followUps.cancel("learn", "a"))
    })
  )

  test(
    "goes on with a sequence at once when its first, which waits, is cancelled",
    Effect.gen(function* () {
      const followUps = yield* FollowUps
      const begun: Array<string> = []
      yield* followUps.register(worker(({ key }) => Effect.sync(() => void begun.push(key))))
      yield* followUps.add([
        yield* sampleFollowUp("learn", { key: "a", sequence: "one", delayMillis: 3_600_000 }),
        yield* sampleFollowUp("learn", { key: "b", sequence: "one" })
      ])
      yield* settle
      assert.deepStrictEqual(begun, [])
      assert.isTrue(yield* followUps.cancel("learn", "a"))
      yield* settle
      assert.deepStrictEqual(begun, ["b"])
    })
  )

  test(
    "cancels nothing of another owner, and nothing that is done or dead",
    Effect.gen(function* () {
      const followUps = yield* FollowUps
      const ended: Array<string> = []
      const failure = new FollowUpFailed({ message: "The file is broken.", isRetryable: false })
      yield* followUps.register(
        worker(({ key }) =>
          key === "done"
            ? Effect.void
            : key === "dead"
              ? Effect.fail(failure)
              : Effect.onInterrupt(Effect.never, () => Effect.sync(() => void ended.push(key)))
        )
      )
      for (const key of ["done", "dead", "a"]) yield* add(key)
      yield* settle
      assert.isFalse(yield* asOwner("bob", followUps.cancel("learn", "a")))
      assert.deepStrictEqual(yield* asOwner("bob", followUps.list("learn", { skip: 0, limit: 10 })), [])
      for (const key of ["done", "dead", "unknown"]) assert.isFalse(yield* followUps.cancel("learn", key))
      yield* settle
      assert.deepStrictEqual(ended, [])
      assert.deepStrictEqual(
        (yield* followUps.list("learn", { skip: 0, limit: 10 })).map(({ key, status }) => [key, status]),
        [
          ["a", "running"],
          ["dead", "dead"],
          ["done", "done"]
        ]
      )
    })
  )

  it.effect("interrupts the work that was cancelled, and not the one of the same key that was added after it", () =>
    Effect.gen(function* () {
      const again = yield* Deferred.make<void>()
      const begun: Array<string> = []
      const ended: Array<string> = []
      const stores = InMemory.layerFrom(InMemory.makeState())
      // The new one is under way before the answer to `cancel` arrives.
      const slow = changed((store) => ({
        cancel: (kind, key) => Effect.tap(store.cancel(kind, key), () => Deferred.await(again))
      }))
      const services = yield* Layer.build(Layer.provideMerge(FollowUps.layer, Layer.provideMerge(slow, stores)))
      yield* Effect.gen(function* () {
        const followUps = yield* FollowUps
        yield* followUps.register(
          worker(({ id }) =>
            Effect.sync(() => void begun.push(id)).pipe(
              Effect.andThen(Effect.never),
              Effect.onInterrupt(() => Effect.sync(() => void ended.push(id)))
            )
          )
        )
        yield* add("a")
        yield* settle
        const cancelling = yield* Effect.forkChild(followUps.cancel("learn", "a"), { startImmediately: true })
        yield* add("a")
        yield* settle
        assert.strictEqual(begun.length, 2)
        yield* Deferred.succeed(again, undefined)
        assert.isTrue(yield* Fiber.join(cancelling))
        yield* settle
        assert.deepStrictEqual(ended, begun.slice(0, 1))
        assert.deepStrictEqual(yield* storedState("a"), { attempts: 1, lastError: null, status: "running" })
      }).pipe(Effect.provideContext(services))
    }).pipe(Principal.provide("ada"), Effect.provide(Logger.layer([])))
  )

  it.effect("stops cancelled work of another process when that renews its claim, and never stores its end", () =>
    Effect.gen(function* () {
      const store = InMemory.layerFrom(InMemory.makeState())
      const ended: Array<string> = []
      const first = yield* Layer.build(Layer.fresh(Layer.provideMerge(FollowUps.layer, store)))
      const second = yield* Layer.build(Layer.fresh(Layer.provideMerge(FollowUps.layer, store)))
      yield* Effect.gen(function* () {
        yield* (yield* FollowUps).register(
          worker(({ key }) => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void ended.push(key))))
        )
        yield* add("a")
      }).pipe(Effect.provideContext(first))
      yield* settle
      const there = FollowUps.use((followUps) => followUps.cancel("learn", "a"))
      assert.isTrue(yield* Effect.provideContext(there, second))
      yield* settle
      assert.deepStrictEqual(ended, [])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(ended, ["a"])
      yield* TestClock.adjust("1 minute")
      const listed = FollowUps.use((followUps) => followUps.list("learn", { skip: 0, limit: 10 }))
      assert.deepStrictEqual(yield* Effect.provideContext(listed, second), [])
    }).pipe(Principal.provide("ada"), Effect.provide(Logger.layer([])))
  )

  test(
    "refuses a page whose size is no number from 0",
    Effect.gen(function* () {
      const followUps = yield* FollowUps
      for (const none of [Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY]) {
        for (const page of [
          { skip: none, limit: 1 },
          { skip: 0, limit: none }
        ]) {
          for (const list of [followUps.list("learn", page), followUps.dead(page)]) {
            const defect = yield* Effect.catchDefect(list, Effect.succeed)
            assert.instanceOf(defect, TypeError)
            assert.include(String(defect), "must be a whole number from 0")
          }
        }
      }
    })
  )

  test(
    "interrupts the work of a worker that leaves, and gives it back at once",
    Effect.gen(function* () {
      const followUps = yield* FollowUps
      const ended: Array<string> = []
      const leaving = yield* Scope.make()
      const endless = worker(({ key }) =>
        Effect.onInterrupt(Effect.never, () => Effect.sync(() => void ended.push(key)))
      )
      yield* Scope.provide(followUps.register(endless), leaving)
      yield* followUps.register({ ...endless, kind: "another" })
      yield* add("a")
      yield* followUps.add([yield* sampleFollowUp("another", { key: "b" })])
      yield* settle
      yield* Scope.close(leaving, Exit.void)
      yield* settle
      assert.deepStrictEqual(ended, ["a"])
      assert.deepInclude(yield* storedState("a"), { attempts: 0, status: "pending" })
    })
  )

  it.effect("gives back what it claims for a worker that has left meanwhile", () =>
    Effect.gen(function* () {
      const claimed = yield* Deferred.make<void>()
      const goOn = yield* Deferred.make<void>()
      const slow = changed((store) => ({
        claim: (...given) =>
          Effect.tap(store.claim(...given), (claims) =>
            claims.length === 0
              ? Effect.void
              : Effect.andThen(Deferred.succeed(claimed, undefined), Deferred.await(goOn))
          )
      }))
      const stores = InMemory.layerFrom(InMemory.makeState())
      const services = yield* Layer.build(Layer.provideMerge(FollowUps.layer, Layer.provideMerge(slow, stores)))
      yield* Effect.gen(function* () {
        const leaving = yield* Scope.make()
        yield* Scope.provide((yield* FollowUps).register(worker(() => Effect.void)), leaving)
        yield* add("a")
        yield* Deferred.await(claimed)
        yield* Scope.close(leaving, Exit.void)
        yield* Deferred.succeed(goOn, undefined)
        yield* settle
        assert.deepInclude(yield* storedState("a"), { attempts: 0, status: "pending" })
      }).pipe(Effect.provideContext(services))
    }).pipe(Principal.provide("ada"), Effect.provide(Logger.layer([])))
  )

  test(
    "looks for lost work of one kind though that of another cannot be looked for",
    Effect.gen(function* () {
      const followUps = yield* FollowUps
      const done: Array<string> = []
      const followUp = yield* sampleFollowUp("learn", { key: "lost" })
      const { ownerId } = yield* Principal
      yield* followUps.register({ kind: "broken", run: () => Effect.void, lost: Effect.die("a fault") })
      yield* followUps.register({
        ...worker(({ key }) => Effect.sync(() => void done.push(key))),
        lost: Effect.sync(() => (done.length === 0 ? [{ ownerId, followUp }] : []))
      })
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(done, ["lost"])
    })
  )

  for (const delayMillis of [Number.NaN, Number.POSITIVE_INFINITY, 1e300, -1e300]) {
    test(
      `stores nothing that is delayed by ${delayMillis} milliseconds`,
      Effect.gen(function* () {
        const followUps = yield* FollowUps
        const exit = yield* Effect.exit(
          followUps.add([yield* sampleFollowUp("learn", { key: "a" }), yield* sampleFollowUp("learn", { delayMillis })])
        )
        assert.include(String(exit), "A follow-up is delayed by 100 years at most.")
        assert.isTrue(Option.isNone(yield* followUps.find("learn", "a")))
      })
    )
  }

  it.effect("pauses for a hundred years at most, whatever the cause says", () =>
    Effect.gen(function* () {
      const paused = yield* Deferred.make<Duration.Duration | null>()
      const stores = InMemory.layerFrom(InMemory.makeState())
      const watched = changed((store) => ({
        fail: (claim, failure) => Effect.andThen(Deferred.succeed(paused, failure.pause), store.fail(claim, failure))
      }))
      const services = yield* Layer.build(Layer.provideMerge(FollowUps.layer, Layer.provideMerge(watched, stores)))
      const patient = new FollowUpFailed({ message: "Later.", isRetryable: true, pauseMillis: 1e300 })
      yield* Effect.gen(function* () {
        yield* (yield* FollowUps).register(worker(() => Effect.fail(patient)))
        yield* add("a")
        const pause = yield* Deferred.await(paused)
        assert.strictEqual(pause && Duration.toDays(pause), 36_500)
      }).pipe(Effect.provideContext(services))
    }).pipe(Principal.provide("ada"), Effect.provide(Logger.layer([])))
  )

  it.effect("claims as long as a run is leased, unless the host says otherwise", () =>
    Effect.gen(function* () {
      const durations: Array<number> = []
      const stores = InMemory.layerFrom(InMemory.makeState())
      const watched = changed((store) => ({
        claim: (kinds, limit, duration, rules) => {
          durations.push(Duration.toMillis(duration))
          return store.claim(kinds, limit, duration, rules)
        }
      }))
      const kernel = TestKernel.layer([], {
        stores: Layer.provideMerge(watched, stores),
        settings: { lease: "3 seconds" }
      })
      const services = yield* Layer.build(kernel)
      yield* Effect.provideContext(
        FollowUps.use((followUps) => followUps.register(worker(() => Effect.void))),
        services
      )
      yield* settle
      assert.deepStrictEqual([...new Set(durations)], [3000])
    }).pipe(Effect.provide(Logger.layer([])))
  )

  for (const [title, giveUp] of [
    ["breaks", () => Effect.die("a fault")],
    ["throws", () => assert.fail("a fault")],
    ["hangs", () => stuck]
  ] as const) {
    test(
      `keeps what failed as dead, though its worker ${title} when it is told`,
      Effect.gen(function* () {
        let tried = 0
        const failure = new FollowUpFailed({ message: "The file is broken.", isRetryable: false })
        yield* (yield* FollowUps).register(
          worker(
            () =>
              Effect.suspend(() => {
                tried += 1
                return Effect.fail(failure)
              }),
            giveUp
          )
        )
        yield* add("a")
        yield* hours(3)
        assert.strictEqual(tried, 1)
        assert.deepStrictEqual(yield* storedState("a"), { attempts: 1, lastError: failure.message, status: "dead" })
      })
    )
  }

  it.effect("lets a process end whose worker cannot be interrupted", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const services = yield* Layer.buildWithScope(Layer.fresh(runner), scope)
      yield* FollowUps.use((followUps) => followUps.register(worker(() => stuck))).pipe(
        Effect.provideContext(services),
        Scope.provide(scope)
      )
      yield* Effect.provideContext(add("a"), services)
      yield* settle
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      yield* settle
      assert.isDefined(closing.pollUnsafe())
    }).pipe(Principal.provide("ada"), Effect.provide(Logger.layer([])))
  )

  test(
    "refuses a second worker of one kind",
    Effect.gen(function* () {
      const followUps = yield* FollowUps
      yield* followUps.register(worker(() => Effect.void))
      const exit = yield* Effect.exit(followUps.register(worker(() => Effect.void)))
      assert.isTrue(Exit.isFailure(exit))
    })
  )

  it.effect("leaves work of other kinds to the processes that know it", () =>
    Effect.gen(function* () {
      const followUps = yield* FollowUps
      yield* followUps.register(worker(() => Effect.void))
      yield* followUps.add([yield* sampleFollowUp("another", { key: "a" })])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(Option.getOrThrow(yield* followUps.find("another", "a")).status, "pending")
    }).pipe(
      Principal.provide("ada"),
      Effect.provide(runner),
      Effect.provideService(FollowUpSettings, {
        poll: "5 seconds",
        concurrency: 1,
        claim: "30 seconds",
        attempts: 1,
        firstPause: "1 second",
        longestPause: "1 second",
        longestAttempt: "2 hours",
        sweep: "1 minute"
      })
    )
  )
})

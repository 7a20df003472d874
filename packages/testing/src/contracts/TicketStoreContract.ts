/** The contract of `TicketStore`: a ticket is valid once. */
import { Principal, RunId } from "@colloquy/core"
import { newId } from "@colloquy/core/adapters"
import { type TicketRecord, TicketStore } from "@colloquy/core/wings"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ContractTest, Stores } from "./ContractTest.ts"
import { eraseEverything } from "./Erasing.ts"
import { asNewOwner, moment } from "./Samples.ts"
import { openThread, refusedWhileErasing, tenTimes } from "./Scenes.ts"

const sampleTicket = Effect.fnUntraced(function* (fields: Partial<TicketRecord> = {}) {
  const thread = yield* openThread
  const { ownerId } = yield* Principal
  const hash = yield* newId(RunId)
  const record: TicketRecord = {
    hash,
    ownerId,
    threadId: thread.id,
    assistantId: thread.assistantId,
    origin: "https://app.example",
    expiresAt: new Date("2100-01-01T00:00:00.000Z"),
    ...fields
  }
  return record
})

const redeem = (hash: string, now = moment(0)) => TicketStore.use((store) => store.redeem(hash, now))

export const ticketStoreContract = (test: ContractTest<TicketStore | Stores>): void => {
  test("MUST consume a ticket once under concurrent redemption, and give it equal in every field", function* () {
    const ticket = yield* sampleTicket()
    assert.isTrue(yield* (yield* TicketStore).insert(ticket))
    const given = (yield* tenTimes(redeem(ticket.hash))).flatMap((each) => (Option.isSome(each) ? [each.value] : []))
    assert.deepStrictEqual(given, [ticket])
  })

  test("MUST NOT give a ticket that has expired, nor an unknown one", function* () {
    const ticket = yield* sampleTicket({ origin: null })
    yield* (yield* TicketStore).insert(ticket)
    assert.isTrue(Option.isNone(yield* redeem(ticket.hash, ticket.expiresAt)))
    assert.isTrue(Option.isNone(yield* redeem(yield* newId(RunId))))
  })

  test("MUST NOT keep a ticket while everything of the principal is being erased", function* () {
    const ticket = yield* sampleTicket()
    yield* refusedWhileErasing((yield* TicketStore).insert(ticket))
    assert.isTrue(Option.isSome(yield* redeem(ticket.hash)))
  })

  test("MUST be gone when everything of the principal is erased, and stay for other owners", function* () {
    const store = yield* TicketStore
    const [ours, theirs] = [yield* sampleTicket(), yield* asNewOwner(sampleTicket())]
    assert.isTrue(yield* store.insert(ours))
    yield* Principal.provide(theirs.ownerId)(Effect.andThen(store.insert(theirs), eraseEverything))
    assert.isTrue(Option.isNone(yield* redeem(theirs.hash)))
    assert.isTrue(Option.isSome(yield* redeem(ours.hash)))
  })

  test("MUST NOT keep a ticket for a thread of another owner", function* () {
    const ticket = yield* asNewOwner(sampleTicket())
    assert.isFalse(yield* (yield* TicketStore).insert(ticket))
    assert.isTrue(Option.isNone(yield* redeem(ticket.hash)))
  })
}

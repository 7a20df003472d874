/**
 * Makes of a part what turns use: its steps, each with its plan and its time limit. Only the part itself knows the type of its plan; turns
 * store it as JSON. A part may be the host's code, or may call a provider, a store or a service of the host. Before anything is stored, exceeding a limit
 * refuses the turn and names the part; afterwards it is a defect of the part, and the part is left out. `recall`, `answer` and `speak` are
 * limited where they are called, because there a timeout has another consequence.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { DeadlinesPort } from "../primitives/Deadlines.ts"
import { TurnRefused } from "./TurnErrors.ts"
import type { RegisteredPart, TurnPart } from "./TurnPart.ts"
import type { TurnSettings } from "./TurnSettings.ts"

type Times = Pick<TurnSettings, "decideTimeout" | "hostedToolTimeout" | "listenTimeout" | "recallTimeout">

/** Every step is called on the part itself, which may be an object of a class. */
export const registeredPart = <Plan>(part: TurnPart<Plan>, times: Times, { within }: DeadlinesPort): RegisteredPart => {
  const { limits = {}, listen, name, receiveMedia, refuse, render, session, surround } = part
  const { decide: decideTime = times.decideTimeout, listen: listenTime = times.listenTimeout } = limits
  const decodePlan = Schema.decodeUnknownOption(part.plan)
  const encodePlan = Schema.encodeEffect(part.plan)

  const limited =
    (time: Duration.Input) =>
    <E2>(late: (said: string) => Effect.Effect<never, E2>) =>
    <Input extends Array<unknown>, A, E, R>(did: string, step: (...input: Input) => Effect.Effect<A, E, R>) =>
    (...input: Input): Effect.Effect<A, E | E2, R> => {
      const said = () => `The part "${name}" did not ${did} within ${Duration.format(Duration.fromInputUnsafe(time))}.`
      return Effect.suspend(() => within(time, step.apply(part, input), () => late(said())))
    }

  /** Nothing is stored yet. */
  const refused = (said: string) => {
    const problems = [{ path: [], message: `${said} Nothing was stored; send the message again.` }]
    return Effect.fail(new TurnRefused({ part: name, reason: "part_timeout", problems }))
  }
  const fault = (said: string) => Effect.die(new Error(said))

  const kept = <Kept extends { readonly supplement?: Schema.Json }>(made: Kept | null | undefined): Kept | null => {
    if (made?.supplement !== undefined) mustBeJson(name, made.supplement)
    return made ?? null
  }

  const deciding = limited(decideTime)(refused)
  const rendering = limited(times.recallTimeout)(fault)
  const hear = listen && limited(listenTime)(refused)("turn the message into text", listen)
  const decide = deciding("decide", part.decide)
  const joinSession = session && limited(decideTime)(fault)("join a voice session", session)

  return {
    name,
    joinsSessions: session !== undefined,
    concerns: part.concerns?.bind(part),
    refuse: refuse && deciding("check the message", refuse),
    listen: hear && ((turn, listening) => Effect.map(hear(turn, listening), kept)),
    decide: Effect.fnUntraced(function* (turn) {
      const decision = kept(yield* decide(turn))
      if (decision === null) return null
      return { ...decision, plan: yield* Effect.orDie(encodePlan(decision.plan)) }
    }),
    render: render && rendering("render a message", render),
    surround: surround && rendering("render what stands around a message", surround),
    receiveMedia: receiveMedia && limited(times.hostedToolTimeout)(fault)("keep media", receiveMedia),
    receiveSources: part.receiveSources?.bind(part),
    planned: (stored) => {
      const decoded = decodePlan(stored)
      if (Option.isNone(decoded)) return null
      const plan = decoded.value
      return {
        name,
        tools: part.tools?.(plan) ?? [],
        ownTools: part.ownTools?.(plan) ?? [],
        recall: part.recall?.bind(part, plan),
        answer: part.answer?.bind(part, plan),
        speak: part.speak?.bind(part, plan),
        followUps: (settled) => part.followUps?.(plan, settled) ?? [],
        followUpsOfSaved: (saved) => part.followUpsOfSaved?.(plan, saved) ?? [],
        session: joinSession && ((assistantId) => joinSession(plan, assistantId))
      }
    }
  }
}

const isJson = Schema.is(Schema.Json)

/** One event that cannot be written would take the whole log of the run with it. The fault belongs to the part that makes it. */
export const mustBeJson = (part: string, data: unknown): void => {
  if (!isJson(data)) throw new TypeError(`The part "${part}" told or kept something that is no JSON`)
}

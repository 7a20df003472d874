/**
 * Time limits for the steps of a turn's parts. A part may be the host's code, or may call a provider, a store or a service of the host, so
 * each step has a limit. Before anything is stored, exceeding it refuses the turn and names the part; afterwards it is a defect of the
 * part, and the part is left out. `recall`, `answer` and `speak` are limited where they are called, because there a timeout has another
 * consequence.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { DeadlinesPort } from "../primitives/Deadlines.ts"
import { TurnRefused } from "./TurnErrors.ts"
import type { TurnPart } from "./TurnPart.ts"
import type { TurnSettings } from "./TurnSettings.ts"

type Times = Pick<TurnSettings, "decideTimeout" | "hostedToolTimeout" | "listenTimeout" | "recallTimeout">

/** Adds the time limits to the steps of a part. A step that answers at once costs nothing more. */
export const limitedPart = <Plan>(part: TurnPart<Plan>, times: Times, { within }: DeadlinesPort): TurnPart<Plan> => {
  const { decide, limits = {}, listen, name, receiveMedia, refuse, render, session, surround } = part
  const { decide: decideTime = times.decideTimeout, listen: listenTime = times.listenTimeout } = limits

  /** Refuses the turn: nothing is stored yet. */
  const orRefused = <A, E, R>(time: Duration.Input, did: string, step: () => Effect.Effect<A, E, R>) =>
    Effect.suspend(() => within(time, step(), () => Effect.fail(tooSlow(name, did, time))))
  const orFault = <A, E, R>(time: Duration.Input, did: string, step: () => Effect.Effect<A, E, R>) =>
    Effect.suspend(() => within(time, step(), () => Effect.die(new Error(sentence(name, did, time)))))

  return {
    ...part,
    decide: (turn) => orRefused(decideTime, "decide", () => decide(turn)),
    ...(refuse && { refuse: (turn) => orRefused(decideTime, "check the message", () => refuse(turn)) }),
    ...(listen && {
      listen: (turn, listening) => orRefused(listenTime, "turn the message into text", () => listen(turn, listening))
    }),
    ...(render && {
      render: (...given) => orFault(times.recallTimeout, "render a message", () => render(...given))
    }),
    ...(surround && {
      surround: (...given) =>
        orFault(times.recallTimeout, "render what stands around a message", () => surround(...given))
    }),
    ...(receiveMedia && {
      receiveMedia: (...given) => orFault(times.hostedToolTimeout, "keep media", () => receiveMedia(...given))
    }),
    ...(session && {
      session: (...given) => orFault(decideTime, "join a voice session", () => session(...given))
    })
  }
}

const sentence = (part: string, did: string, time: Duration.Input): string =>
  `The part "${part}" did not ${did} within ${Duration.format(Duration.fromInputUnsafe(time))}.`

const tooSlow = (part: string, did: string, time: Duration.Input): TurnRefused =>
  new TurnRefused({
    part,
    reason: "part_timeout",
    problems: [{ path: [], message: `${sentence(part, did, time)} Nothing was stored; send the message again.` }]
  })

/**
 * A stream of one pull function, for the streams of every turn.
 *
 * `Stream.fromPull` and `Stream.unwrap` set a function on an object of `Object.create`. V8 keeps such a function, with everything that it
 * knows, until the next full collection; it does not on an object of a constructor (decision 98).
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Channel from "effect/Channel"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

type Make<A, E, R> = (scope: Scope.Scope) => Effect.Effect<Pull.Pull<NonEmptyReadonlyArray<A>, E>, E, R>

/** A channel as `Channel.fromTransform` makes one. */
class PullChannel {
  readonly transform: unknown

  constructor(transform: unknown) {
    this.transform = transform
  }
}
Object.setPrototypeOf(PullChannel.prototype, Object.getPrototypeOf(Channel.empty))

/** `make` gives the pull function when the stream is run. The scope ends with the run. */
export const pullStream = <A, E = never, R = never>(make: Make<A, E, R>): Stream.Stream<A, E, R> => {
  const transform = (_: unknown, scope: Scope.Scope) =>
    Effect.catchCause(make(scope), (cause) => Effect.succeed(Effect.failCause(cause)))
  // The constructor sets what `Channel.toTransform` reads; the types of channels do not tell it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const channel = new PullChannel(transform) as unknown as Channel.Channel<
    NonEmptyReadonlyArray<A>,
    E,
    void,
    unknown,
    unknown,
    unknown,
    R
  >
  return Stream.fromChannel(channel)
}

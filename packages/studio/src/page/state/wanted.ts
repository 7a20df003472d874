/** What comes late. */
import { tell } from "./studio.ts"

/** For effects: takes what is read, unless it is not wanted any more when it comes. */
export const takeWanted = <Value>(read: Promise<Value>, take: (value: Value) => void): (() => void) => {
  let isWanted = true
  read.then(
    (value) => isWanted && take(value),
    (error: unknown) => isWanted && tell(error)
  )
  return () => {
    isWanted = false
  }
}

/** A client of voice sessions for tests: it keeps what it hears, and tests can wait for events. */
import { RealtimeClient, type RealtimeEvent } from "@colloquy/ws/client"
import { WebSocket } from "ws"

type Options = Omit<ConstructorParameters<typeof RealtimeClient>[0], "onEvent" | "onClose">
type Heard<Type extends RealtimeEvent["type"]> = Extract<RealtimeEvent, { readonly type: Type }>

export const firstFrame = { provider: "demo", model: "demo-voice-1" }

export const withHeaders = (headers: Readonly<Record<string, string>>) => (url: string) =>
  new WebSocket(url, { headers })

export const talk = (options: Options) => {
  const events: Array<RealtimeEvent> = []
  const waiting = new Set<() => void>()
  let closed: number | null = null
  const look = () => {
    for (const each of waiting) each()
  }
  const client = new RealtimeClient({
    ...options,
    onEvent: (event) => {
      events.push(event)
      look()
    },
    onClose: (code) => {
      closed = code
      look()
    }
  })
  const until = <A>(find: () => A | null | undefined): Promise<A> =>
    new Promise((resolve) => {
      const each = () => {
        const found = find()
        if (found === undefined || found === null) return
        waiting.delete(each)
        resolve(found)
      }
      waiting.add(each)
      each()
    })
  const hasType =
    <Type extends RealtimeEvent["type"]>(type: Type) =>
    (event: RealtimeEvent): event is Heard<Type> =>
      event.type === type
  return {
    client,
    events,
    /** Waits until the function returns a value for something that is heard. */
    until,
    /** The first event of this type. */
    heard: <Type extends RealtimeEvent["type"]>(type: Type): Promise<Heard<Type>> =>
      until(() => events.find(hasType(type))),
    /** The first event: the beginning of the session, or its refusal. */
    answered: () => until(() => events.find((event) => event.type === "session.begin" || event.type === "error")),
    closed: () => until(() => closed)
  }
}

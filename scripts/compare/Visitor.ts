/** A client of the programs that serve: it asks, leaves in the middle of an answer, and comes back. */

/** An answer while it comes. */
export interface Coming {
  /** What has come so far: the text of a stream of events, or the body. */
  readonly text: () => string
  readonly body: () => string
  /** Resolves when the words have come; false when the answer ended without them. */
  readonly shows: (words: string) => Promise<boolean>
  readonly ended: Promise<void>
  /** Closes the connection. */
  readonly leave: () => void
}

/** One user's way to a program. */
export interface Visitor {
  readonly begin: () => Promise<string>
  readonly ask: (thread: string, content: string) => Coming
  readonly follow: (thread: string, first: Coming) => Coming
  /** The stored conversation, as the program tells it. */
  readonly read: (thread: string) => Promise<string>
}

/** The deltas of a stream of events; other bodies as they are. */
const textIn = (body: string): string => {
  if (!/^data: /mu.test(body)) return body
  const whole = body.slice(0, body.lastIndexOf("\n\n") + 1)
  return [...whole.matchAll(/^data: (\{.*\})$/gmu)]
    .map(([, json = ""]) => JSON.parse(json))
    .map(({ content, delta, type }) => (type === "content_streaming" ? content : (delta ?? "")))
    .join("")
}

const coming = (url: string, request: RequestInit): Coming => {
  const leaving = new AbortController()
  let body = ""
  const looking = new Set<() => void>()
  const reading = async () => {
    const response = await fetch(url, { ...request, signal: leaving.signal })
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      body += piece
      for (const look of looking) look()
    }
  }
  const ended = reading().catch(() => {})
  const text = () => textIn(body)
  const shows = (words: string) =>
    new Promise<boolean>((resolve) => {
      const look = () => {
        if (text().includes(words)) resolve(true)
      }
      looking.add(look)
      look()
      void ended.then(() => resolve(text().includes(words)))
    })
  return { text, body: () => body, shows, ended, leave: () => leaving.abort() }
}

const json = (headers: Record<string, string>, body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body)
})

const readText = async (url: string, headers: Record<string, string>) => (await fetch(url, { headers })).text()

/** The page of `useChat`: the route, and what the page reads on the server. */
export const pageVisitor = (url: string, user: string): Visitor => {
  const headers = { "x-user": user }
  return {
    begin: async () => (await fetch(`${url}/begin`, { method: "POST", headers })).text(),
    ask: (id, text) => {
      const messages = [{ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] }]
      return coming(`${url}/api/chat`, json(headers, { id, messages, trigger: "submit-message" }))
    },
    follow: (id) => coming(`${url}/api/chat/${id}/stream`, { headers }),
    read: (id) => readText(`${url}/load/${id}`, headers)
  }
}

/** What Colloquy's API answers to who makes an assistant or a thread. */
interface Made {
  readonly assistant_id: string
  readonly thread_id: string
}

/** A user who has logged in. Colloquy has its own API; the other programs have three routes, written by hand. */
export const loggedIn = async (url: string, user: string, hasApi: boolean): Promise<Visitor> => {
  const login = await fetch(`${url}/login/${user}`, { method: "POST" })
  const headers = { cookie: login.headers.getSetCookie().join("; ") }
  const made = async (path: string, body: unknown): Promise<Made> =>
    JSON.parse(await (await fetch(`${url}/ai/${path}`, json(headers, body))).text())
  return {
    begin: async () => {
      if (!hasApi) return crypto.randomUUID()
      const { assistant_id } = await made("assistants", { name: "Chat" })
      return (await made(`assistants/${assistant_id}/threads`, {})).thread_id
    },
    ask: (thread, content) =>
      coming(`${url}/ai/threads/${thread}/messages`, json(headers, { content, ...(hasApi ? { stream: true } : {}) })),
    follow: (thread, first) => {
      const run = /"run_id": ?"([^"]+)"/u.exec(first.body())?.[1]
      return coming(`${url}/ai/threads/${thread}/${hasApi ? `runs/${run}/events` : "answer"}`, { headers })
    },
    read: (thread) => readText(`${url}/ai/threads/${thread}`, headers)
  }
}

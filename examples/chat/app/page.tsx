"use client"
import { useChat } from "@ai-sdk/react"
import { ColloquyTransport } from "@colloquy/http/ai-sdk"
import type { UIMessage } from "ai"
import { type SubmitEvent, useRef } from "react"

const transport = new ColloquyTransport({ baseUrl: "/ai" })

const Part = ({ part }: { readonly part: UIMessage["parts"][number] }) => {
  if (part.type === "text") return <p>{part.text}</p>
  if (part.type === "reasoning") return <em>{part.text}</em>
  if (part.type === "file") return <a href={part.url}>{part.filename ?? part.mediaType}</a>
  return part.type === "source-document" ? <cite>{part.title}</cite> : null
}

const Page = () => {
  const { error, messages, sendMessage, status, stop } = useChat({ transport })
  const text = useRef<HTMLInputElement>(null)
  const files = useRef<HTMLInputElement>(null)
  const send = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const picked = files.current?.files ?? []
    void sendMessage({ text: text.current?.value ?? "", ...("item" in picked && { files: picked }) })
    event.currentTarget.reset()
  }
  return (
    <main>
      {messages.map(({ id, parts, role }) => (
        <article key={id} aria-label={role}>
          {parts.map((part, index) => (
            <Part key={index} part={part} />
          ))}
        </article>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input ref={text} aria-label="Message" required />
        <input ref={files} aria-label="Files" type="file" multiple />
        {status === "submitted" || status === "streaming" ? (
          <button type="button" onClick={() => void stop()}>
            Stop
          </button>
        ) : (
          <button>Send</button>
        )}
      </form>
    </main>
  )
}
export default Page

/** One conversation: its messages, what went wrong, and the field for the next message with its files. */
import { useChat } from "@ai-sdk/react"
import { ColloquyTransport, type TurnMetadata } from "@colloquy/http/ai-sdk"
import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai"
import { type SubmitEvent, useEffect, useRef, useState } from "react"
import { Part } from "./Part.tsx"

export interface ChatProps {
  readonly id: string
  readonly messages: Array<UIMessage<TurnMetadata>>
}

const starters = ["How is the weather?", "I want a refund.", "Show me some markdown"]

const keepAddress = (threadId: string) => history.replaceState(null, "", `#${threadId}`)

export const Chat = (props: ChatProps) => {
  const [transport] = useState(() => new ColloquyTransport({ baseUrl: "/ai", onThread: keepAddress }))
  const { addToolApprovalResponse, error, messages, regenerate, sendMessage, status, stop } = useChat({
    ...props,
    transport,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses
  })
  const isBusy = status === "submitted" || status === "streaming"
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    end.current?.scrollIntoView()
  }, [messages])
  return (
    <main>
      <header>
        <h1>Chat</h1>
        <a href="/">New chat</a>
      </header>
      <div className="messages" aria-live="polite" aria-busy={isBusy}>
        {messages.length === 0 && (
          <div className="starters">
            <p>Ask for the weather, for a refund, or about a file.</p>
            {starters.map((text) => (
              <button key={text} onClick={() => void sendMessage({ text })} children={text} />
            ))}
          </div>
        )}
        {messages.map(({ id, parts, role }) => (
          <article key={id} className={role} aria-label={role === "user" ? "You" : "Assistant"}>
            {parts.map((part, index) => (
              <Part key={index} part={part} onDecide={(decision) => void addToolApprovalResponse(decision)} />
            ))}
          </article>
        ))}
        {status === "submitted" && <p className="waits">Thinking</p>}
        {error !== undefined && (
          <p role="alert">
            {error.message} <button onClick={() => void regenerate()}>Try again</button>
          </p>
        )}
        <div ref={end} />
      </div>
      <Composer isBusy={isBusy} onSend={(message) => void sendMessage(message)} onStop={() => void stop()} />
    </main>
  )
}

interface ComposerProps {
  readonly isBusy: boolean
  readonly onSend: (message: { text: string; files?: FileList }) => void
  readonly onStop: () => void
}

const Composer = ({ isBusy, onSend, onStop }: ComposerProps) => {
  const [files, setFiles] = useState<FileList | null>(null)
  const send = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const text = new FormData(event.currentTarget).get("text")
    if (isBusy || typeof text !== "string" || text.trim() === "") return
    onSend({ text, ...(files !== null && { files }) })
    event.currentTarget.reset()
    setFiles(null)
  }
  return (
    <form onSubmit={send}>
      {files !== null && <p className="hint">{[...files].map(({ name }) => name).join(", ")}</p>}
      <label className="attach">
        Attach
        <input type="file" multiple aria-label="Files" onChange={(event) => setFiles(event.currentTarget.files)} />
      </label>
      <input name="text" aria-label="Message" placeholder="Message" autoComplete="off" autoFocus />
      {isBusy ? <button type="button" onClick={onStop} children="Stop" /> : <button children="Send" />}
    </form>
  )
}

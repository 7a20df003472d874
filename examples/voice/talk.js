/** The page: one round meter, captions, and how long the assistant lets one wait. */
import { at, caption, show, showLevel, tell } from "./look.js"
import { begin } from "./page.js"
import { openLoudspeaker, openMicrophone } from "./sound.js"

/** Below it, nobody speaks. */
const quiet = 0.02
let client, loudspeaker, microphone
/** When the user's words ended; null: no answer is waited for. */
let saidAt = null
let heardAt = 0

/** Draws the meter, frame by frame, as long as there is a session. */
const draw = () => {
  if (client === undefined) return
  const you = microphone?.loudness() ?? 0
  if (you > quiet) heardAt = performance.now()
  showLevel(Math.max(you, loudspeaker.loudness()))
  if (microphone !== undefined) show(loudspeaker.isPlaying() ? "speaking" : saidAt !== null ? "thinking" : "listening")
  requestAnimationFrame(draw)
}

const play = (bytes, rate) => {
  const samples = new Int16Array(bytes.buffer, 0, bytes.length >> 1)
  if (samples.length === 0) return
  if (saidAt !== null) {
    const waited = Math.round(performance.now() - saidAt)
    at("latency").textContent = `${waited} ms from the end of your words to its first sound`
    saidAt = null
  }
  loudspeaker.play(samples, rate)
}

const write = (words) => {
  caption(words)
  if (words.role === "user" && words.isFinal && !loudspeaker.isPlaying()) saidAt = Math.max(heardAt, saidAt ?? 0)
}

const none = { loudness: () => 0, close: () => {} }

const listen = async (rate) => {
  microphone = await openMicrophone(rate, (piece) => client?.sendAudio(piece)).catch(() => none)
  if (microphone === none) tell("There is no microphone. You can write instead.")
}

const end = () => {
  loudspeaker.stop()
  microphone?.close()
  client = microphone = undefined
  saidAt = null
  show("off")
}

const call = async () => {
  tell("")
  show("calling")
  loudspeaker ??= await openLoudspeaker()
  client = await begin({
    url: new URL("/ai/threads/realtime", location.href).href.replace(/^http/, "ws"),
    play,
    stopPlaying: loudspeaker.stop,
    onWords: write,
    onProblem: tell,
    onBegin: (rate) => void listen(rate),
    onEnd: end
  })
  draw()
}

at("talk").addEventListener("click", () => {
  if (client !== undefined) return client.stop()
  call().catch((error) => {
    tell(`The session does not begin: ${error.message}`)
    show("off")
  })
})

at("form").addEventListener("submit", (event) => {
  event.preventDefault()
  loudspeaker.stop()
  saidAt = performance.now()
  client?.sendText(at("text").value)
  at("form").reset()
})

show("off")

/** The page: the microphone, the loudspeaker, one round meter, captions, and how long the assistant lets one wait. */
import { begin } from "./page.js"

const at = (id) => document.getElementById(id)

/** Below it, nobody speaks. */
const quiet = 0.02
/** What the meter says of each state; the styles know it by the same name. */
const words = {
  off: "Nobody listens",
  calling: "Calling",
  listening: "Listening",
  thinking: "Thinking",
  speaking: "Speaking"
}

let client, context, mouth, ear, deafen
let playing = []
let end = 0
/** When the user's words ended; null: no answer is waited for. */
let saidAt = null
let heardAt = 0

const meter = (node) => {
  const analyser = new AnalyserNode(node.context, { fftSize: 512 })
  node.connect(analyser)
  return analyser
}

/** How loud it is, between 0 and 1. */
const loudness = (analyser) => {
  if (analyser === undefined) return 0
  const samples = new Float32Array(analyser.fftSize)
  analyser.getFloatTimeDomainData(samples)
  return Math.sqrt(samples.reduce((sum, each) => sum + each * each, 0) / samples.length)
}

const show = (state) => {
  if (document.body.dataset.state === state) return
  document.body.dataset.state = state
  at("state").textContent = words[state]
  at("talk").textContent = state === "off" ? "Talk" : "End"
  at("text").disabled = state === "off" || state === "calling"
}

/** Draws the meter, frame by frame, as long as there is a session. */
const draw = () => {
  if (client === undefined) return
  const [you, assistant] = [loudness(ear), loudness(mouth)]
  if (you > quiet) heardAt = performance.now()
  at("meter").style.setProperty("--level", Math.min(1, 4 * Math.max(you, assistant)).toFixed(3))
  if (deafen !== undefined) show(context.currentTime < end ? "speaking" : saidAt !== null ? "thinking" : "listening")
  requestAnimationFrame(draw)
}

const play = (bytes, rate) => {
  const samples = new Int16Array(bytes.buffer, 0, bytes.length >> 1)
  if (samples.length === 0) return
  if (saidAt !== null) {
    at("latency").textContent =
      `${Math.round(performance.now() - saidAt)} ms from the end of your words to its first sound`
    saidAt = null
  }
  const buffer = context.createBuffer(1, samples.length, rate)
  buffer.getChannelData(0).set(Float32Array.from(samples, (sample) => sample / 0x8000))
  const source = new AudioBufferSourceNode(context, { buffer })
  source.connect(mouth)
  end = Math.max(end, context.currentTime + 0.02)
  source.start(end)
  end += buffer.duration
  playing.push(source)
}

const stopPlaying = () => {
  for (const source of playing) source.stop()
  playing = []
  end = 0
}

/** The microphone at the rate of the session, in pieces of signed 16-bit samples. */
const listen = async (rate) => {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true, channelCount: 1 } })
  const sound = new AudioContext({ sampleRate: rate })
  await sound.audioWorklet.addModule("/microphone.js")
  const pieces = new AudioWorkletNode(sound, "microphone")
  const microphone = sound.createMediaStreamSource(stream)
  microphone.connect(pieces)
  ear = meter(microphone)
  pieces.port.addEventListener("message", ({ data }) => client?.sendAudio(data))
  pieces.port.start()
  return () => {
    for (const track of stream.getTracks()) track.stop()
    ear = undefined
    void sound.close()
  }
}

const caption = ({ id, isFinal, role, text }) => {
  let line = at(`said-${id}`)
  if (line === null) {
    line = document.createElement("li")
    line.id = `said-${id}`
    line.className = role
    line.ariaLabel = role === "user" ? "You" : "Assistant"
    at("lines").append(line)
  }
  line.textContent = text
  line.scrollIntoView({ block: "nearest" })
  if (role === "user" && isFinal && end < context.currentTime) saidAt = Math.max(heardAt, saidAt ?? 0)
}

const tell = (message) => {
  at("problem").textContent = message
}

const beginListening = async (rate) => {
  deafen = await listen(rate).catch(() => {
    tell("There is no microphone. You can write instead.")
    return () => {}
  })
}

const call = async () => {
  tell("")
  show("calling")
  context ??= new AudioContext()
  await context.resume()
  if (mouth === undefined) {
    mouth = meter(context.createGain())
    mouth.connect(context.destination)
  }
  const url = new URL("/ai/threads/realtime", location.href).href.replace(/^http/, "ws")
  client = await begin({
    url,
    play,
    stopPlaying,
    onWords: caption,
    onProblem: tell,
    onBegin: (rate) => void beginListening(rate),
    onEnd: () => {
      stopPlaying()
      deafen?.()
      client = deafen = undefined
      saidAt = null
      show("off")
    }
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
  stopPlaying()
  saidAt = performance.now()
  client?.sendText(at("text").value)
  at("form").reset()
})

show("off")

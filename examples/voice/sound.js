/** The loudspeaker and the microphone of the page, each with how loud it is, between 0 and 1. */

const loudnessMeter = (node) => {
  const analyser = new AnalyserNode(node.context, { fftSize: 512 })
  node.connect(analyser)
  return () => {
    const samples = new Float32Array(analyser.fftSize)
    analyser.getFloatTimeDomainData(samples)
    return Math.sqrt(samples.reduce((sum, each) => sum + each * each, 0) / samples.length)
  }
}

/** Plays pieces of signed 16-bit samples one after the other. A browser lets a page do it after a click. */
export const openLoudspeaker = async () => {
  const context = new AudioContext()
  await context.resume()
  const mouth = context.createGain()
  mouth.connect(context.destination)
  let playing = []
  let end = 0
  return {
    loudness: loudnessMeter(mouth),
    isPlaying: () => context.currentTime < end,
    play: (samples, rate) => {
      const buffer = context.createBuffer(1, samples.length, rate)
      buffer.getChannelData(0).set(Float32Array.from(samples, (sample) => sample / 0x8000))
      const source = new AudioBufferSourceNode(context, { buffer })
      source.connect(mouth)
      end = Math.max(end, context.currentTime + 0.02)
      source.start(end)
      end += buffer.duration
      playing.push(source)
    },
    stop: () => {
      for (const source of playing) source.stop()
      playing = []
      end = 0
    }
  }
}

/** Sends what the microphone hears at the rate of the session, in pieces of signed 16-bit samples. */
export const openMicrophone = async (rate, send) => {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true, channelCount: 1 } })
  const context = new AudioContext({ sampleRate: rate })
  await context.audioWorklet.addModule("/microphone.js")
  const pieces = new AudioWorkletNode(context, "microphone")
  const microphone = context.createMediaStreamSource(stream)
  microphone.connect(pieces)
  pieces.port.addEventListener("message", ({ data }) => send(data))
  pieces.port.start()
  return {
    loudness: loudnessMeter(microphone),
    close: () => {
      for (const track of stream.getTracks()) track.stop()
      void context.close()
    }
  }
}

/** Records the microphone while a button is held, and returns a WAV file, which every speech service accepts. */
import { encodeWav } from "../lib/wav.ts"

export interface Recording {
  /** Ends the recording; null when it is empty. */
  readonly stop: () => Promise<Blob | null>
}

const rate = 16_000

export const record = async (): Promise<Recording> => {
  const microphone = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } })
  const recorder = new MediaRecorder(microphone)
  const pieces: Array<Blob> = []
  recorder.addEventListener("dataavailable", ({ data }) => pieces.push(data))
  const stopped = new Promise<void>((resolve) => {
    recorder.addEventListener("stop", () => resolve())
  })
  recorder.start()
  return {
    stop: async () => {
      recorder.stop()
      await stopped
      for (const track of microphone.getTracks()) track.stop()
      const whole = new Blob(pieces, { type: recorder.mimeType })
      if (whole.size === 0) return null
      // The decoder converts the sound to the sample rate of its context.
      const sound = await new OfflineAudioContext(1, 1, rate).decodeAudioData(await whole.arrayBuffer())
      return sound.length === 0
        ? null
        : new Blob([encodeWav(sound.getChannelData(0), sound.sampleRate)], { type: "audio/wav" })
    }
  }
}

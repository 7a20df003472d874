/** How long recordings last, by files of real programs; and of these files cut anywhere. */
import { assert, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { withPrograms } from "../../../../test/programs.ts"
import { recordingSeconds } from "../../src/voice/RecordingLength.ts"

/** Three seconds of a rising tone, as sox writes it. */
const record = (extension: string, options: ReadonlyArray<string>): Uint8Array => {
  const folder = mkdtempSync(join(tmpdir(), "recording-"))
  try {
    const file = join(folder, `tone.${extension}`)
    execFileSync("sox", ["-n", ...options, file, "synth", "3", "sine", "300-3300"])
    return readFileSync(file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** MPEG audio has whole frames and a beginning of silence. */
const tolerance = 0.12

withPrograms(["sox"], () => {
  it.each([
    ["WAV, 16 bits", "wav", ["-r", "16000", "-b", "16"]],
    ["WAV, 24 bits in stereo", "wav", ["-r", "44100", "-b", "24", "-c", "2"]],
    ["WAV of floats", "wav", ["-r", "48000", "-e", "floating-point", "-b", "32"]],
    ["WAV of a telephone", "wav", ["-r", "8000", "-e", "mu-law"]],
    ["WAV, packed (IMA ADPCM)", "wav", ["-r", "8000", "-e", "ima-adpcm"]],
    ["MP3, one rate", "mp3", ["-r", "44100", "-C", "128"]],
    ["MP3, many rates", "mp3", ["-r", "44100", "-C", "-4.2"]],
    ["MP3, half the sampling rate", "mp3", ["-r", "22050", "-C", "32"]],
    ["MP3, stereo", "mp3", ["-r", "48000", "-C", "192", "-c", "2"]],
    ["FLAC", "flac", ["-r", "16000"]],
    ["FLAC in stereo", "flac", ["-r", "96000", "-b", "24", "-c", "2"]],
    ["Ogg Vorbis", "ogg", ["-r", "22050"]],
    ["Ogg Vorbis in stereo", "ogg", ["-r", "44100", "-c", "2", "-C", "8"]]
  ] as const)("a recording of three seconds as %s", (_, extension, options) => {
    const bytes = record(extension, options)
    assert.approximately(recordingSeconds(bytes, extension) ?? Number.NaN, 3, tolerance)
    for (let end = 0; end < bytes.length; end += 997) {
      const seconds = recordingSeconds(bytes.subarray(0, end), extension)
      assert.isTrue(seconds === null || (seconds >= 0 && seconds <= 3 + tolerance), `cut at ${end}: ${seconds}`)
    }
  })
})

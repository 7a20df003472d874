/** Turns by a small model: real speech, made when the test runs, and sounds that are as loud. */
import { bySpeech } from "@colloquy/adapters/rnnoise"
import { makeResampler } from "@colloquy/core/adapters"
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { byEnergy, type TurnDetector } from "../../src/voice-parts/index.ts"
import { pieceBytes } from "../../src/voice-parts/TurnDetector.ts"

const hasSpeech = spawnSync("espeak-ng", ["--version"]).status === 0
const isSkipped = !hasSpeech && process.env["CI"] !== "true"
const reason = hasSpeech ? "" : " (espeak-ng is not installed; `scripts/install-voices.sh` installs it)"

/** PCM16 at 24 kHz, of the WAV at 22,050 Hz that the program writes. */
const speech = (text: string): Buffer => {
  const { stdout } = spawnSync("espeak-ng", ["--stdout", text], { maxBuffer: 64 * 1024 * 1024 })
  return Buffer.from(makeResampler(stdout.readUInt32LE(24), 24_000)(stdout.subarray(stdout.indexOf("data") + 8)))
}

/** The same noise each time, from -1 to 1. */
const makeNoise = (): (() => number) => {
  let seed = 1
  return () => {
    seed ^= seed << 13
    seed ^= seed >>> 17
    seed ^= seed << 5
    return seed / 2 ** 31
  }
}

const sound = (millis: number, at: (millis: number, noise: () => number) => number): Buffer => {
  const noise = makeNoise()
  return Buffer.from(Int16Array.from({ length: millis * 24 }, (_, index) => at(index / 24, noise)).buffer)
}

const silence = sound(1000, () => 0)
/** A fan that is switched on. */
const fan = sound(3000, (_, noise) => 4000 * noise())
/** Somebody types: each key is a bang of 80 milliseconds that fades away. */
const typing = sound(3000, (millis, noise) => 20_000 * noise() * Math.exp(-(millis % 200) / 40))

const mixed = (one: Buffer, other: Buffer): Buffer => {
  const both = Buffer.from(one)
  for (let at = 0; at + 1 < Math.min(one.length, other.length); at += 2)
    both.writeInt16LE(Math.max(-32_768, Math.min(32_767, one.readInt16LE(at) + other.readInt16LE(at))), at)
  return both
}

/** What is told, and after how many milliseconds. */
const turnsIn = (detector: TurnDetector, ...sounds: ReadonlyArray<Buffer>) => {
  const all = Buffer.concat(sounds)
  const told: Array<readonly [signal: string, millis: number]> = []
  let at = 0
  const hear = detector((signal) => told.push([signal, at / 48]), { threshold: null, silenceMillis: 500 })
  for (; at + pieceBytes <= all.length; at += pieceBytes) hear(all.subarray(at, at + pieceBytes))
  return told
}

const signals = (...args: Parameters<typeof turnsIn>) => turnsIn(...args).map(([signal]) => signal)

describe(`turns by a small model${reason}`, () => {
  it("a fan and a keyboard begin no turn, which the loudness alone takes for speech", () => {
    for (const noise of [fan, typing]) {
      assert.include(signals(byEnergy, silence, noise, silence), "began")
      assert.deepStrictEqual(signals(bySpeech, silence, noise, silence), [])
    }
  })

  it.skipIf(isSkipped)("speech is one turn, in silence and while a fan runs", () => {
    const words = speech("Tell me everything about the castle, please.")
    for (const room of [
      words,
      mixed(
        words,
        sound(10_000, (_, noise) => 600 * noise())
      )
    ]) {
      const [began, ended, ...more] = turnsIn(bySpeech, silence, room, silence)
      assert.deepStrictEqual([began?.[0], ended?.[0], more], ["began", "ended", []])
      assert.isBelow(began?.[1] ?? 0, 1000 + 400)
      assert.isAbove(ended?.[1] ?? 0, 1000 + words.length / 48 - 300)
    }
  })

  it.skipIf(isSkipped)("each session hears for itself", () => {
    const words = speech("How far is it to the station?")
    const alone = turnsIn(bySpeech, silence, words, silence)
    turnsIn(bySpeech, fan)
    assert.deepStrictEqual(turnsIn(bySpeech, silence, words, silence), alone)
  })
})

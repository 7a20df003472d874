/** When a turn begins and ends, by energy and pauses. */
import { assert, describe, it } from "@effect/vitest"
import { byEnergy } from "../../src/voice-parts/index.ts"
import { makeSpokenTurns } from "../../src/voice-parts/SpokenTurns.ts"

const noise = (millis: number, volume: number) => {
  const samples = Int16Array.from({ length: millis * 24 }, (_, index) => (index % 2 === 0 ? volume : -volume))
  return new Uint8Array(samples.buffer)
}

const detectedTurns = (sound: ReadonlyArray<Uint8Array>, size = 961) => {
  const told: Array<string | number> = []
  const pieces: Array<Uint8Array> = []
  const turns = makeSpokenTurns(
    byEnergy,
    { threshold: null, silenceMillis: 400 },
    {
      began: () => told.push("began"),
      heard: (more) => pieces.push(...more),
      ended: (audio, goesOn) => {
        told.push(Math.round(audio.byteLength / 48), ...(goesOn ? ["goes on"] : []))
        // What was told while it was spoken is the whole turn, each sample once. A turn that never began was not told.
        const heard = Buffer.concat(pieces.splice(0))
        assert.isTrue(heard.length === 0 ? audio.byteLength < 300 * 48 + 960 : heard.equals(audio))
      }
    }
  )
  const all = Buffer.concat(sound)
  for (let at = 0; at < all.length; at += size) turns.hear(all.subarray(at, at + size))
  return { told, turns }
}

describe("turns by energy and pauses", () => {
  it.each([37, 960, 961, 5000, 1_000_000])(
    "speech, a short pause and speech are one turn, in pieces of %i bytes",
    (size) => {
      const sound = [noise(1000, 20), noise(600, 5000), noise(300, 20), noise(500, 5000), noise(1000, 20)]
      // 300 ms before the speech, four pieces of it that decide, the rest, and the pause.
      assert.deepStrictEqual(detectedTurns(sound, size).told, [
        "began",
        300 + 600 + 300 + 500 + 400 - 80 + 80 - 60 - 20
      ])
    }
  )

  it("a click is no turn, and a long pause makes two", () => {
    assert.deepStrictEqual(detectedTurns([noise(500, 20), noise(40, 20_000), noise(1000, 20)]).told, [])
    const { told } = detectedTurns([noise(500, 20), noise(500, 5000), noise(600, 20), noise(500, 5000), noise(600, 20)])
    assert.deepStrictEqual(
      told.filter((each) => each === "began"),
      ["began", "began"]
    )
  })

  it("the noise of a loud room is learned", () => {
    const room = noise(3000, 320)
    assert.deepStrictEqual(detectedTurns([room]).told, [])
    assert.strictEqual(detectedTurns([room, noise(500, 6000), noise(1000, 320)]).told.length, 2)
  })

  it("speech without a pause is a turn for each minute, and no word between them is lost", () => {
    const { told } = detectedTurns([noise(125_000, 5000), noise(1000, 20)])
    assert.deepStrictEqual(told, ["began", 60_000, "goes on", 60_000, "goes on", 5400])
  })

  it("a commit ends what there is", () => {
    const { told, turns } = detectedTurns([noise(65_000, 5000)], 96_000)
    assert.isTrue(turns.commit())
    assert.deepStrictEqual(told, ["began", 60_000, "goes on", 5000])
    turns.clear()
    assert.isFalse(turns.commit())
  })
})

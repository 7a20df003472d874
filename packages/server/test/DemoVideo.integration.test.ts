/** The video of the demo is real: a browser plays it to its end, and shows the drawn ball. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import type { Browser } from "playwright-core"
import { inChromium } from "../../../test/browser.ts"
import { demoClip } from "../src/demo/DemoVideo.ts"

/** Runs in the page: plays the video, and returns the brightness of its last picture at the ball and in a corner. */
const play = (source: string): string => `new Promise((resolve, reject) => {
  const video = document.createElement("video")
  video.muted = true
  video.onerror = () => reject(new Error(video.error?.message))
  video.onended = () => {
    const canvas = document.createElement("canvas")
    canvas.width = video.videoWidth
    canvas.height = video.videoHeight
    const context = canvas.getContext("2d")
    context.drawImage(video, 0, 0)
    const brightness = (x, y) => {
      const [red, green, blue] = context.getImageData(x, y, 1, 1).data
      return red * 0.3 + green * 0.6 + blue * 0.1
    }
    resolve([video.videoWidth, video.videoHeight, video.duration, brightness(103, 32), brightness(4, 4)])
  }
  video.src = ${JSON.stringify(source)}
  void video.play()
})`

inChromium((launch) => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  }, 60_000)
  afterAll(() => browser.close())

  it("plays to its end", async () => {
    const page = await browser.newPage()
    const url = `data:video/mp4;base64,${Buffer.from(demoClip()).toString("base64")}`
    const [width, height, seconds, ball = 0, corner = 0] = await page.evaluate<ReadonlyArray<number>>(play(url))
    assert.deepStrictEqual([width, height, seconds], [128, 80, 2])
    assert.isAbove(ball, corner + 60)
  }, 60_000)
})

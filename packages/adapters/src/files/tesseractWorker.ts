/** The script of the process in which one picture is read. Tesseract throws texts and codes of its own, and the picture is the reason. */
import { answerOnce } from "./answerOnce.ts"
import { readPicture } from "./readPicture.ts"
import { damagedPicture } from "./Refused.ts"

await answerOnce(readPicture, damagedPicture)

/** The script of the process that reads one picture. Whatever Tesseract throws means that the picture is damaged. */
import { answerOnce } from "./answerOnce.ts"
import { readPicture } from "./readPicture.ts"
import { damagedPicture } from "./Refused.ts"

await answerOnce(readPicture, damagedPicture)

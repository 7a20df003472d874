/** The script of the process that converts one picture. */
import { answerOnce } from "../files/answerOnce.ts"
import { convertPicture, explainPicture } from "./convertPicture.ts"

await answerOnce(convertPicture, explainPicture)

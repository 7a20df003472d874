/** OpenAI's clients against this server: `webHandler({ kernel, wings: [openai] })` serves `/v1/chat/completions`, `/v1/responses` and what belongs to them. */
export { openai } from "./Routes.ts"

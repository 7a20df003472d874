/** The API under `/ai` of a Next application: only this file at this place is needed. Its folder name matches every path below. */
import { ai } from "../../../ai.ts"

export const dynamic = "force-dynamic"
export const GET = ai.handler
export const HEAD = ai.handler
export const POST = ai.handler
export const PUT = ai.handler
export const DELETE = ai.handler
export const OPTIONS = ai.handler

import { service } from "../../../service.ts"

export const GET = service.handler
export const POST = service.handler

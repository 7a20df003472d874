/** Answers with an error status, as the errors that clients catch. */
import * as Errors from "../wire/Errors.ts"

const classes: Readonly<Record<number, (body: never) => Error>> = {
  400: (body) => new Errors.BadRequest(body),
  401: (body) => new Errors.Unauthorized(body),
  402: (body) => new Errors.PaymentRequired(body),
  403: (body) => new Errors.Forbidden(body),
  404: (body) => new Errors.NotFound(body),
  408: (body) => new Errors.RequestTimeout(body),
  409: (body) => new Errors.Conflict(body),
  412: (body) => new Errors.PreconditionFailed(body),
  413: (body) => new Errors.PayloadTooLarge(body),
  415: (body) => new Errors.UnsupportedMediaType(body),
  416: (body) => new Errors.RangeNotSatisfiable(body),
  422: (body) => new Errors.HTTPValidationError(body),
  429: (body) => new Errors.TooManyRequests(body),
  500: (body) => new Errors.InternalServerError(body),
  501: (body) => new Errors.NotImplemented(body),
  502: (body) => new Errors.BadGateway(body),
  503: (body) => new Errors.ServiceUnavailable(body),
  504: (body) => new Errors.GatewayTimeout(body)
}

/** A body of another form was not written by this service, but for instance by a proxy. */
export const readError = async (response: Response): Promise<Error> => {
  const text = await response.text()
  try {
    const make = classes[response.status]
    // The class looks at the body itself, and throws when it does not fit.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    if (make !== undefined) return make(JSON.parse(text) as never)
  } catch {
    // Not a body of this service: see below.
  }
  return new Errors.UnexpectedAnswer({
    status: response.status,
    detail: `The answer ${response.status} was not written by this service`
  })
}

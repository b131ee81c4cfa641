/** The answer to a call: `body` is sent as JSON, `text` and `bytes` unchanged. `committed`: whether the call changed data. */
export type Answer = {
  status: number
  body?: any
  text?: string
  bytes?: Buffer
  type?: string
  headers?: Record<string, string>
  committed?: boolean
}

/** The CRM's error envelope, for a whole call or for one record. */
export type Refusal = {code: string; details: Record<string, unknown>; message: string; status: 'error'}

export const messages: Record<string, string> = {
  ALREADY_MODIFIED: 'Record updated time has already passed if-unmodified-since time',
  AMBIGUITY_DURING_PROCESSING: 'Ambiguity while processing the request',
  AUTHENTICATION_FAILURE: 'Authentication failed',
  CRITERIA_LIMIT_EXCEEDED: 'no of criterium that can be given exceed the limit 15',
  DISCRETE_PAGINATION_LIMIT_EXCEEDED: 'use page_token to get records beyond the limit',
  DUPLICATE_DATA: 'duplicate data',
  DUPLICATE_LINKING_DATA: 'duplicate linking data',
  EXPECTED_FIELD_MISSING: 'One of the expected fields is missing',
  EXPECTED_PARAM_MISSING: 'One of the expected parameter is missing',
  EXPIRED_VALUE: 'the given page_token has expired',
  INTERNAL_ERROR: 'Internal server error occurred.',
  INVALID_DATA: 'invalid data',
  INVALID_MODULE: 'the module name given seems to be invalid',
  INVALID_QUERY: 'invalid query formed',
  INVALID_REQUEST_METHOD: 'The http request method type is not a valid one',
  INVALID_TOKEN: 'invalid oauth token',
  INVALID_URL_PATTERN: 'Please check if the URL trying to access is a correct one',
  LIMIT_EXCEEDED: 'the limit is exceeded',
  LIMIT_REACHED: 'maximum response iteration limit reached',
  MANDATORY_NOT_FOUND: 'required field not found',
  MULTIPLE_OR_MULTI_ERRORS: 'Multiple errors in the request',
  MEDIA_TYPE_NOT_SUPPORTED: 'Media type is not supported.',
  MODULE_NOT_AVAILABLE: 'Requested module is not available.',
  NO_PERMISSION: 'permission denied',
  NOT_APPROVED: 'record not approved',
  NOT_SUPPORTED: 'the module is not supported for this operation',
  OAUTH_SCOPE_MISMATCH: 'Unauthorized',
  PAGINATION_LIMIT_EXCEEDED: 'maximum number of records reached',
  PATTERN_NOT_MATCHED: 'Please check whether the input values are correct',
  RECORD_LOCKED: 'The record is locked',
  REQUEST_BODY_NOT_SUPPORTED: 'Request body not supported.',
  REQUIRED_PARAM_MISSING: 'One of the expected parameter is missing',
  SYNTAX_ERROR: 'error occurred while parsing the query',
  TOKEN_BOUND_DATA_MISMATCH: 'the page_token does not belong to this request',
  TOO_MANY_REQUESTS: 'Number of API requests for the 24 hour period is exceeded',
}

export const refusal = (code: string, details: Record<string, unknown> = {}, message = messages[code] ?? code.toLowerCase()): Refusal => ({
  code,
  details,
  message,
  status: 'error',
})

/** Answers a refusal of the whole call: the error envelope without an array around it. */
export const refuse = (status: number, code: string, details: Record<string, unknown> = {}, message?: string): Answer => ({
  status,
  body: refusal(code, details, message),
})

/** Thrown to end a call with the answer that it holds. */
export class CallRefused extends Error {
  readonly answer: Answer
  constructor(answer: Answer) {
    super(answer.body?.code ?? `status ${answer.status}`)
    this.answer = answer
  }
}

export const ok = (body: unknown, status = 200): Answer => ({status, body})
export const nothing = (): Answer => ({status: 204})

/** The closed table: every code a refusal may carry, and the status it is answered with. Clients and tests look at codes, never at words. */
const STATUS = {
  // the request itself
  INVALID: 400,
  BAD_JSON: 400,
  INVALID_CURSOR: 400,
  BATCH_SIZE: 400,
  RECORD_REPEATED: 400,
  ROW_KEY_REPEATED: 400,
  NOT_A_SUBFORM: 400,
  SUBFORM_NOT_WRITABLE: 400,
  RUN_REQUIRED: 400,
  SOURCE_REQUIRED: 400,
  CONNECTION_REQUIRED: 400,
  BAD_IF_MATCH: 400,
  RETURN_NOT_ALLOWED: 400,
  RATE_LIMITED: 429,
  BODY_TOO_LARGE: 413,
  FILE_TOO_LARGE: 413,
  CONTENT_TYPE: 415,
  REQUEST_TIMEOUT: 408,
  METHOD_NOT_ALLOWED: 405,
  // who asks
  AUTH_REQUIRED: 401,
  TOKEN_REVOKED: 401,
  TOKEN_EXPIRED: 401,
  ORG_NOT_FOUND: 401,
  MEMBERSHIP_GONE: 401,
  BANNED: 403,
  NO_ORG: 403,
  OTHER_ORG: 403,
  SESSION_REQUIRED: 403,
  STAFF_VIEW: 403,
  IMPERSONATION_READ_ONLY: 403,
  IMPERSONATION_REFUSED: 403,
  ROLE_REQUIRED: 403,
  ADMIN_REQUIRED: 403,
  SIGN_IN_REFUSED: 403,
  SIGN_IN_EXPIRED: 400,
  SIGN_IN_UNAVAILABLE: 502,
  // what is asked for
  NOT_FOUND: 404,
  IMPORT_NOT_FOUND: 404,
  SOURCE_NOT_FOUND: 404,
  RUN_NOT_FOUND: 404,
  MODULE_NOT_FOUND: 404,
  CONNECTION_NOT_FOUND: 404,
  // helper libraries
  NAMESPACE_MISMATCH: 400,
  NAMESPACE_RESERVED: 400,
  LIBRARY_SCOPE: 400,
  LIBRARY_LOAD: 400,
  LIBRARY_EXPORTS: 400,
  LIBRARY_EXAMPLE: 400,
  LIBRARY_MANAGED: 409,
  LIBRARY_REPLACED: 409,
  FEATURE_HELPER_LIBRARIES: 403,
  // its state
  ORG_CLOSED: 403,
  LAST_OWNER: 409,
  PERSON_AMBIGUOUS: 409,
  MEMBERSHIP_CHANGING: 409,
  INVITATION_EXPIRED: 409,
  INVITATION_USED: 409,
  INVITATION_WITHDRAWN: 409,
  NOT_A_SANDBOX: 409,
  NOT_PRODUCTION: 409,
  IMPORT_RUNNING: 409,
  NOT_READY: 409,
  REGISTRY_CONFLICT: 409,
  UNKNOWN_FIELDS: 422,
  RUN_USED: 409,
  RUN_RETRIED: 409,
  SNAPSHOT_CHANGED: 409,
  LEASE_LOST: 409,
  WRITES_PAUSED: 409,
  NOT_OFFERED: 409,
  NO_DISCOVERY: 409,
  NO_FILE: 409,
  DRY_RUN: 409,
  NOT_A_DRY_RUN: 409,
  FROM_FUTURE: 409,
  FILE_GONE: 410,
  RUN_STOPPED: 403,
  NOT_YOUR_RUN: 403,
  RUN_CONNECTOR_MISMATCH: 409,
  RUN_ENDED: 409,
  WRITE_ID_REUSED: 409,
  WRITE_UNDER_WAY: 409,
  ROW_OF_ANOTHER_PARENT: 409,
  // files
  FILE_EMPTY: 422,
  FILE_NO_ROWS: 422,
  FILE_ENCODING: 422,
  FILE_NUL: 422,
  FILE_QUOTE: 422,
  FILE_HEADER: 422,
  FILE_FORMAT: 422,
  FILE_ENCRYPTED: 422,
  FILE_CORRUPT: 422,
  SHEET_NOT_FOUND: 422,
  WORKBOOK_TOO_LARGE: 413,
  UNREADABLE: 422,
  RESULTS_TOO_LARGE: 413,
  // plan limits
  LIMIT_ROWS: 402,
  // the CRM
  CONNECTION_THROTTLED: 429,
  DAILY_ALLOWANCE_SPENT: 429,
  CONNECTION_UNAVAILABLE: 502,
  CRM_REFUSED: 502,
  // this service
  UPLOAD_BROKEN: 400,
  BUSY: 503,
  MAINTENANCE: 503,
  NOT_CONFIGURED: 503,
  RECORDS_MOVING: 503,
  SANDBOX_UNAVAILABLE: 503,
  UNAVAILABLE: 503,
  INTERNAL: 500,
} as const

export type Code = keyof typeof STATUS

/** A refusal its caller is told about. `code` picks the status; `extra` is added to the envelope. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly code: Code
  readonly extra: Record<string, unknown>
  readonly status: number

  /** A status is given only where the specification has two for one code: `ORG_CLOSED` is 403 at the gates and 409 to who would join. */
  constructor(code: Code, message: string, extra: Record<string, unknown> = {}, status: number = STATUS[code]) {
    super(message)
    this.code = code
    this.extra = extra
    this.status = status
  }

  get envelope() {
    return {error: this.message, code: this.code, ...this.extra}
  }
}

export const codes = Object.keys(STATUS) as Code[]

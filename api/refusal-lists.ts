import type {Code} from '../shared/errors.ts'

/** Refusals of routes that read a stored file again with the same options. */
export const ofReadingAgain = [
  'UNREADABLE',
  'FILE_TOO_SLOW',
  'WORKBOOK_TOO_LARGE',
  'SANDBOX_UNAVAILABLE',
] as const satisfies readonly Code[]

/** Refusals of routes that read a file with new options. */
export const ofReading = [
  ...(['FILE_EMPTY', 'FILE_NO_ROWS', 'FILE_HEADER', 'FILE_ENCODING', 'FILE_NUL', 'FILE_QUOTE'] as const),
  ...(['FILE_CORRUPT', 'SHEET_NOT_FOUND'] as const),
  ...ofReadingAgain,
] as const satisfies readonly Code[]

/** Refusals of routes that read a run's records from the database or storage. */
export const ofRecords = ['FILE_GONE', 'FROM_FUTURE', 'NOT_CONFIGURED', 'RECORDS_MOVING'] as const satisfies readonly Code[]

/** Refusals of routes that start work which counts against the plan. */
export const ofPlan = ['STATUS_SUSPENDED', 'STATUS_PAST_DUE', 'LIMIT_ROWS'] as const satisfies readonly Code[]

export const ofExternalRun = [
  ...(['RUN_NOT_FOUND', 'NOT_YOUR_RUN', 'RUN_USED', 'RUN_ENDED', 'FILE_GONE', 'LEASE_LOST', 'IMPORT_RUNNING'] as const),
] as const satisfies readonly Code[]

export const ofExternalWrite = [
  ...ofExternalRun,
  ...(['RUN_STOPPED', 'RUN_CONNECTOR_MISMATCH', 'WRITE_ID_REUSED', 'WRITE_UNDER_WAY', 'WRITES_PAUSED', 'MODULE_DISABLED'] as const),
  ...(['CONNECTION_NOT_FOUND', 'CONNECTION_UNAVAILABLE', 'CONNECTION_THROTTLED'] as const),
] as const satisfies readonly Code[]

export const ofPayment = ['NOT_CONFIGURED', 'PAYMENT_PROVIDER_REFUSED', 'PAYMENT_PROVIDER_UNAVAILABLE'] as const satisfies readonly Code[]

/** Refusals of the routes that call the AI model. Failures of the model cost nothing. */
export const ofModel = [
  ...(['NOT_CONFIGURED', 'CREDITS_EXHAUSTED', 'STATUS_SUSPENDED', 'STATUS_PAST_DUE'] as const),
  ...(['MODEL_ANSWER_INVALID', 'MODEL_UNAVAILABLE'] as const),
] as const satisfies readonly Code[]

/** Refusals of routes that accept `place`: the part of an import to which a conversation belongs. */
export const ofPlace = ['INVALID_PLACE', 'IMPORT_NOT_FOUND', 'FILE_GONE'] as const satisfies readonly Code[]

/** Refusals of routes that load a library and run its examples. */
export const ofLoading = [
  ...(['NAMESPACE_RESERVED', 'LIBRARY_SCOPE', 'LIBRARY_LOAD', 'LIBRARY_EXPORTS', 'LIBRARY_EXAMPLE'] as const),
  ...(['SANDBOX_UNAVAILABLE', 'BUSY'] as const),
] as const satisfies readonly Code[]

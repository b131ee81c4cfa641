import type {Code} from '../shared/errors.ts'

/** A file that was read before is read once more, as it was. */
export const ofReadingAgain = [
  'UNREADABLE',
  'FILE_TOO_SLOW',
  'WORKBOOK_TOO_LARGE',
  'SANDBOX_UNAVAILABLE',
] as const satisfies readonly Code[]

/** A file is read, or read otherwise than before. */
export const ofReading = [
  ...(['FILE_EMPTY', 'FILE_NO_ROWS', 'FILE_HEADER', 'FILE_ENCODING', 'FILE_NUL', 'FILE_QUOTE'] as const),
  ...(['FILE_CORRUPT', 'SHEET_NOT_FOUND'] as const),
  ...ofReadingAgain,
] as const satisfies readonly Code[]

/** A run's records are read, wherever they are kept by then. */
export const ofRecords = ['FILE_GONE', 'FROM_FUTURE', 'NOT_CONFIGURED', 'RECORDS_MOVING'] as const satisfies readonly Code[]

/** Something metered is begun. */
export const ofPlan = ['STATUS_SUSPENDED', 'STATUS_PAST_DUE', 'LIMIT_ROWS'] as const satisfies readonly Code[]

/** An engine outside this service tells of its run, which is not its own, or over, or lost. */
export const ofOutsideRun = [
  ...(['RUN_NOT_FOUND', 'NOT_YOUR_RUN', 'RUN_USED', 'RUN_ENDED', 'FILE_GONE', 'LEASE_LOST', 'IMPORT_RUNNING'] as const),
] as const satisfies readonly Code[]

/** It writes under its run. */
export const ofOutsideWrite = [
  ...ofOutsideRun,
  ...(['RUN_STOPPED', 'RUN_CONNECTOR_MISMATCH', 'WRITE_ID_REUSED', 'WRITE_UNDER_WAY', 'WRITES_PAUSED'] as const),
  ...(['CONNECTION_NOT_FOUND', 'CONNECTION_UNAVAILABLE', 'CONNECTION_THROTTLED'] as const),
] as const satisfies readonly Code[]

/** The payment provider is asked for something. */
export const ofPayment = ['NOT_CONFIGURED', 'PAYMENT_PROVIDER_REFUSED', 'PAYMENT_PROVIDER_UNAVAILABLE'] as const satisfies readonly Code[]

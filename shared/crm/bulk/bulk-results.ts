import type {StoredObject} from '../../files/xlsx/zip.ts'
import {readExportedRecords} from './exported-records.ts'

/** `recordId` is null if the CRM names no record. */
export type BulkRowResult = {
  status: 'created' | 'updated' | 'skipped' | 'unprocessed'
  recordId: string | null
  errors: {code: string; fields: string[]}[]
}

const statuses: Record<string, BulkRowResult['status']> = {
  ADDED: 'created',
  UPDATED: 'updated',
  SKIPPED: 'skipped',
  UNPROCESSED: 'unprocessed',
}

/**
 * Returns the results in a stored result file by key, the value of the first column. A key has no result if its row is missing, occurs twice, has an
 * unknown status, or was written without a record id. The caller must treat such a row as unanswered.
 */
export const readBulkResults = async (object: StoredObject, keys: string[]): Promise<Map<string, BulkRowResult>> => {
  const wanted = new Set(keys)
  const found = new Map<string, BulkRowResult>()
  const doubled = new Set<string>()
  // Mapped columns come before these three, and may have the same names.
  for await (const rows of readExportedRecords(object, [0, 'STATUS', 'RECORD_ID', 'ERRORS']))
    for (const [key, status, recordId, errors] of rows as [string, string, string, string][]) {
      const result = readRow(status, recordId, errors)
      if (found.has(key) || !wanted.has(key) || !result) doubled.add(key)
      else found.set(key, result)
    }
  for (const key of doubled) found.delete(key)
  return found
}

/** Returns null for an unknown status, and for a written row without a record id. */
const readRow = (given: string, recordId: string, errors: string): BulkRowResult | null => {
  const status = statuses[given.trim().toUpperCase()]
  const id = /^\d{1,20}$/.test(recordId) ? recordId : null
  if (!status || ((status === 'created' || status === 'updated') && id === null)) return null
  return {status, recordId: id, errors: readErrors(errors)}
}

/** Parses errors of the form `CODE-Field,Field:CODE-Field`. */
const readErrors = (text: string): BulkRowResult['errors'] =>
  text === ''
    ? []
    : text.split(':').map(part => {
        const [code = '', ...fields] = part.split(/-(.*)/s)
        return {code, fields: (fields[0] ?? '').split(',').filter(Boolean)}
      })

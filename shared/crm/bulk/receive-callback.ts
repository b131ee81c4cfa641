import {createHash} from 'node:crypto'
import {storeBulkHint} from '../../../sql/bulk-jobs.ts'
import type {Db} from '../../../sql/database.ts'
import {asObject} from '../error.ts'
import {listAt} from '../outcome.ts'

/** The bulk job is stored with this digest of its callback's secret. */
export const digestSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/**
 * Stores the job id of a callback's body as a hint. The body has the form of a job's status. The run verifies the id before use. Ignores a body
 * without an id.
 */
export const receiveCallback = async (db: Db, secret: string, body: Buffer): Promise<void> => {
  const id = idIn(body.toString())
  if (id !== null) await storeBulkHint(db, {secret: digestSecret(secret), hint: id})
}

const idIn = (text: string): string | null => {
  try {
    const body = asObject(JSON.parse(text))
    const id = (asObject(listAt(body, 'data')?.[0]) ?? body)?.id
    return typeof id === 'string' && /^\d{1,20}$/.test(id) ? id : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

import type {Connection, RecordAnswer} from '../../shared/crm/crm.ts'
import {startClock} from '../../shared/crm/deadline.ts'
import {asObject, errorsOf} from '../../shared/crm/error.ts'
import type {Work} from '../worker.ts'

/** `seconds`: the time limit of the read. */
type SentCreates = {module: string; field: string; records: Record<string, unknown>[]; seconds: number}

/**
 * Adds the idempotency field to a refusal as a duplicate if the named record has the value that was sent. A generic destination may name the record but
 * not the field. If the records cannot be read in time, the refusals do not change.
 */
export const addDuplicateField = async (
  {log}: Pick<Work, 'log'>,
  connection: Pick<Connection, 'isRecordId' | 'readRecords'>,
  {module, field, records, seconds}: SentCreates,
  results: RecordAnswer[],
): Promise<RecordAnswer[]> => {
  const ids = results.map(findUnnamedDuplicate).filter(id => id !== null && connection.isRecordId(id)) as string[]
  if (ids.length === 0) return results
  const clock = startClock(seconds, undefined)
  const found = await connection
    .readRecords({module, ids: [...new Set(ids)], fields: [field]}, {signal: clock.signal})
    .catch(err => {
      log.warn({err}, 'could not read the records that refused creates name as duplicates')
      return []
    })
    .finally(clock.stop)
  const values = new Map(found.map(record => [record.id, record[field]]))
  return results.map((answer, n) => {
    const id = findUnnamedDuplicate(answer)
    if (id === null || values.get(id) !== records[n]![field] || answer.ok || !answer.sent) return answer
    return {...answer, crm: {...answer.crm, details: {...asObject(answer.crm.details), api_name: field}}}
  })
}

/** Returns the record that a refused create names as its duplicate, if the refusal names no field. */
const findUnnamedDuplicate = (answer: RecordAnswer): string | null =>
  !answer.ok && answer.sent && errorsOf(answer.crm).every(({code, field}) => code === 'DUPLICATE_DATA' && field === null)
    ? answer.duplicateOf
    : null

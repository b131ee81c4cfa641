import type {CrmRecord} from '../crm.ts'
import {asObject} from '../error.ts'

/** Adds `$display_name` if the module has a naming field and the record has a value in this field. */
export const withName = (record: CrmRecord, {namingField}: {namingField: string | null}): CrmRecord => {
  const name = namingField === null ? null : nameIn(record[namingField])
  return name === null ? record : {...record, $display_name: name}
}

/** The name of a lookup value is the name of the linked record. */
const nameIn = (value: unknown): string | null => {
  const name = asObject(value) ? asObject(value)!.name : value
  return (typeof name === 'string' && name !== '') || typeof name === 'number' ? String(name) : null
}

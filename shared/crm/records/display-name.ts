import type {CrmRecord} from '../crm.ts'
import {asObject} from '../error.ts'

/** Adds the display name, if the module has a naming field and the record holds a value in it. */
export const withName = (record: CrmRecord, {namingField}: {namingField: string | null}): CrmRecord => {
  const name = namingField === null ? null : nameIn(record[namingField])
  return name === null ? record : {...record, $display_name: name}
}

/** Returns a value as a name. A lookup value has the name of the record that it links to. */
const nameIn = (value: unknown): string | null => {
  const name = asObject(value) ? asObject(value)!.name : value
  return (typeof name === 'string' && name !== '') || typeof name === 'number' ? String(name) : null
}

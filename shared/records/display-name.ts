import type {CrmRecord} from '../crm/crm.ts'
import {asObject} from '../crm/error.ts'

/** With its name as the CRM shows it, where the module has a naming field and the record something in it. */
export const withName = (record: CrmRecord, {namingField}: {namingField: string | null}): CrmRecord => {
  const name = namingField === null ? null : nameIn(record[namingField])
  return name === null ? record : {...record, $display_name: name}
}

/** A lookup is called by the name of what it points to. */
const nameIn = (value: unknown): string | null => {
  const name = asObject(value) ? asObject(value)!.name : value
  return (typeof name === 'string' && name !== '') || typeof name === 'number' ? String(name) : null
}

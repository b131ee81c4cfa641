import type {ImportRow} from '../model.ts'

/** Returns the placeholder id of a record that a dry run would create. No CRM id has this form. */
export const plannedIdOf = ({key}: Pick<ImportRow, 'key'>) => `row:${key}`
export const isPlannedId = (recordId: string) => recordId.startsWith('row:')

/** Returns the row number in a row key or a placeholder id. */
export const rowNumberOf = (key: string) => key.slice(key.lastIndexOf('.') + 1)

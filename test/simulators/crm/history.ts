import type {Module} from './modules.ts'
import type {User} from './org.ts'
import type {Rec, Values} from './store.ts'

/** A change of a record after its creation. `source` and `action` are values of the vendor's timeline. */
export type Change = {
  at: number
  by: User
  source: string
  action: string
  fields: {name: string; old: unknown; new: unknown}[] | null
}

const mostRecords = 50_000
const mostChanges = 100

/** Adds a change to the latest 100 of a record. Beyond 50,000 changed records, a module drops the history that changed longest ago. */
export const noteChange = ({store}: Module, rec: Rec, change: Change) => {
  const known = store.history.get(rec.id) ?? []
  store.history.delete(rec.id)
  store.history.set(rec.id, [...known.slice(1 - mostChanges), change])
  if (store.history.size > mostRecords) store.history.delete(store.history.keys().next().value!)
}

/** Lists the fields of `after` whose stored values differ. The caller compares subform rows. */
export const changedFields = (before: Values, after: Values): NonNullable<Change['fields']> =>
  Object.keys(after)
    .filter(name => text(before[name]) !== text(after[name]))
    .map(name => ({name, old: before[name] ?? null, new: after[name] ?? null}))

/** Returns a value as the timeline shows it: as text. Source: the sample of the vendor's OpenAPI of timelines. */
export const text = (value: unknown): string => {
  if (value === null || value === undefined || value === '') return 'blank'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

import type {Change} from './history.ts'
import type {IndexLag} from './index-lag.ts'
import type {User} from './org.ts'
import {createValueIndex, type ValueIndex} from './value-index.ts'

/** Stored values by field: date-times in ms, lookups as ids. Subform rows are in `rows`. */
export type Values = Record<string, unknown>

export type Rec = {
  id: string
  values: Values
  owner: User
  createdBy: User
  modifiedBy: User
  createdAt: number
  modifiedAt: number
  rows: Map<string, Rec[]> | null
  parent: Rec | null
  converted: boolean
  locked: boolean
  gone: boolean
  /** How the record was created, for the timeline; by default `crm_ui`. */
  source?: string
}

/** A deleted record, which keeps its subform rows in `rec.rows`. */
export type Binned = {rec: Rec; at: number; by: User}

/** The records of one module. `list` is sorted by id, so the newest record is last. A deleted record stays in the list until a sweep. */
export type Store = {
  byId: Map<string, Rec>
  list: Rec[]
  gone: number
  uniques: Map<string, ValueIndex>
  lazies: Map<string, ValueIndex>
  bin: Map<string, Binned>
  /** The changes of records since their creation, for the timeline. */
  history: Map<string, Change[]>
  /** For recently written records, the values that search and COQL still show. */
  searchLag: IndexLag
  coqlLag: IndexLag
}

export const createStore = (): Store => ({
  byId: new Map(),
  list: [],
  gone: 0,
  uniques: new Map(),
  lazies: new Map(),
  bin: new Map(),
  history: new Map(),
  searchLag: new Map(),
  coqlLag: new Map(),
})

export const insert = (store: Store, rec: Rec) => {
  store.byId.set(rec.id, rec)
  const last = store.list[store.list.length - 1]
  if (last && last.id > rec.id) store.list.splice(positionAfter(store.list, rec.id), 0, rec)
  else store.list.push(rec)
  for (const [name, index] of store.uniques) index.add(rec.values[name], rec)
  for (const [name, index] of store.lazies) index.add(indexed(rec, name), rec)
}

export const replaceValues = (store: Store, rec: Rec, values: Values) => {
  const before = rec.values
  rec.values = values
  for (const [name, index] of store.uniques) reindex(index, rec, before[name], values[name])
  for (const [name, index] of store.lazies) if (!name.startsWith('$')) reindex(index, rec, before[name], values[name])
}

export const remove = (store: Store, rec: Rec) => {
  store.byId.delete(rec.id)
  rec.gone = true
  store.gone += 1
  store.searchLag.delete(rec)
  store.coqlLag.delete(rec)
  for (const [name, index] of store.uniques) index.remove(rec.values[name], rec)
  for (const [name, index] of store.lazies) index.remove(indexed(rec, name), rec)
  if (store.gone > 64 && store.gone * 2 > store.list.length) sweep(store)
}

/** Puts a removed record back with its id and values. */
export const revive = (store: Store, rec: Rec) => {
  const place = positionBefore(store.list, rec.id)
  if (store.list[place] === rec) store.gone -= 1
  else store.list.splice(place, 0, rec)
  rec.gone = false
  store.byId.set(rec.id, rec)
  for (const [name, index] of store.uniques) index.add(rec.values[name], rec)
  for (const [name, index] of store.lazies) index.add(indexed(rec, name), rec)
}

/** Returns the index of a field that is not unique. The first use builds the index; later writes maintain it. */
export const lazyIndex = (store: Store, name: string): ValueIndex => {
  let index = store.lazies.get(name)
  if (index) return index
  store.lazies.set(name, (index = createValueIndex({fold: true})))
  for (const rec of live(store)) index.add(indexed(rec, name), rec)
  return index
}

/** Makes a field unique. Existing values may be equal, because uniqueness can be switched on later. */
export const addUnique = (store: Store, name: string, {fold}: {fold: boolean}) => {
  const index = createValueIndex({fold})
  for (const rec of live(store)) index.add(rec.values[name], rec)
  store.uniques.set(name, index)
}

export function* live(store: Store): Generator<Rec> {
  for (const rec of store.list) if (!rec.gone) yield rec
}

export function* newestFirst(store: Store, beforeId?: string): Generator<Rec> {
  const start = beforeId === undefined ? store.list.length : positionBefore(store.list, beforeId)
  for (let at = start - 1; at >= 0; at--) {
    const rec = store.list[at]!
    if (!rec.gone) yield rec
  }
}

const indexed = (rec: Rec, name: string) => (name === '$parent' ? rec.parent?.id : rec.values[name])

const reindex = (index: ValueIndex, rec: Rec, before: unknown, after: unknown) => {
  if (before === after) return
  index.remove(before, rec)
  index.add(after, rec)
}

const sweep = (store: Store) => {
  store.list = store.list.filter(rec => !rec.gone)
  store.gone = 0
}

const positionBefore = (list: Rec[], id: string) => search(list, candidate => candidate.id >= id)
const positionAfter = (list: Rec[], id: string) => search(list, candidate => candidate.id > id)

const search = (list: Rec[], reached: (rec: Rec) => boolean) => {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (reached(list[middle]!)) high = middle
    else low = middle + 1
  }
  return low
}

import {type Check, createCheck} from './field-checks.ts'
import {metaId, namedId, type Org, owning, userById} from './org.ts'
import {type DataType, defaultLengths, type FieldSpec, type Formula} from './schema.ts'
import type {Rec} from './store.ts'
import {formatInstant} from './zones.ts'

export type Field = {
  id: string
  spec: FieldSpec
  name: string
  type: DataType
  length: number
  creatable: boolean
  updatable: boolean
  check: Check
  /** Returns the value for comparisons: date-times in ms, lookups as ids. */
  raw: (rec: Rec) => unknown
  read: (rec: Rec, zone: string) => unknown
  next: number
}

const neverWritten: DataType[] = ['formula', 'autonumber', 'profileimage']

export const createField = (org: Org, spec: FieldSpec): Field => {
  const raw = systemRaw[spec.name] ?? (spec.formula ? computed(spec.formula) : stored(spec))
  const isWritable = !spec.readOnly && !spec.formula && !neverWritten.includes(spec.type)
  return {
    id: metaId(org),
    spec,
    name: spec.name,
    type: spec.type,
    length: spec.length ?? defaultLengths[spec.type],
    creatable: spec.writable?.create ?? isWritable,
    updatable: spec.writable?.update ?? isWritable,
    check: createCheck(org, spec),
    raw,
    read: createRead(org, spec, raw),
    next: spec.autoNumber?.start ?? 1,
  }
}

export const isRowsField = (field: Field) => field.type === 'subform' || field.type === 'multiselectlookup'

export const takeNumber = (field: Field) => {
  const {prefix = '', suffix = ''} = field.spec.autoNumber ?? {}
  return `${prefix}${field.next++}${suffix}`
}

/** The fields of every module. Of these, a record may set only `Owner`. */
export const systemFields: FieldSpec[] = [
  {name: 'Owner', type: 'ownerlookup', label: 'Owner'},
  {name: 'Created_By', type: 'ownerlookup', label: 'Created By', readOnly: true},
  {name: 'Modified_By', type: 'ownerlookup', label: 'Modified By', readOnly: true},
  {name: 'Created_Time', type: 'datetime', label: 'Created Time', readOnly: true},
  {name: 'Modified_Time', type: 'datetime', label: 'Modified Time', readOnly: true},
  {
    name: 'Record_Status__s',
    type: 'picklist',
    label: 'Record Status',
    readOnly: true,
    unused: true,
    options: ['Available', 'Draft', 'Trash'],
  },
  {name: 'Locked__s', type: 'boolean', label: 'Locked', readOnly: true, unused: true},
]

const systemRaw: Record<string, (rec: Rec) => unknown> = {
  id: rec => rec.id,
  Owner: rec => rec.owner.id,
  Created_By: rec => rec.createdBy.id,
  Modified_By: rec => rec.modifiedBy.id,
  Created_Time: rec => rec.createdAt,
  Modified_Time: rec => rec.modifiedAt,
  Record_Status__s: () => 'Available',
  Locked__s: rec => rec.locked,
  Parent_Id: rec => rec.parent?.id ?? null,
}

const stored = (spec: FieldSpec) => {
  const {name} = spec
  const absent = spec.type === 'boolean' ? false : null
  return (rec: Rec) => rec.values[name] ?? absent
}

const computed = (formula: Formula) => {
  if ('join' in formula) {
    return (rec: Rec) =>
      formula.join
        .map(name => rec.values[name])
        .filter(value => value !== undefined && value !== null)
        .join(formula.by ?? ' ') || null
  }
  return (rec: Rec) => {
    const factors = formula.multiply.map(name => rec.values[name])
    return factors.every(factor => typeof factor === 'number') ? factors.reduce((product, factor) => product * factor, 1) : null
  }
}

const createRead = (org: Org, spec: FieldSpec, raw: Field['raw']): Field['read'] => {
  if (spec.type === 'datetime') {
    return (rec, zone) => {
      const at = raw(rec)
      return typeof at === 'number' ? formatInstant(at, zone) : null
    }
  }
  if (spec.type === 'lookup') return rec => readLookup(org, spec.lookup, raw(rec))
  if (spec.type === 'ownerlookup' || spec.type === 'userlookup') {
    return rec => {
      const user = userById(org, String(raw(rec) ?? ''))
      return user ? owning(user) : null
    }
  }
  if (spec.type === 'subform' || spec.type === 'multiselectlookup') return () => null
  if (spec.type === 'tag') return rec => readTags(org, raw(rec))
  if (spec.rich) return rec => cut(raw(rec))
  return raw
}

const readLookup = (org: Org, to: string | undefined, id: unknown) => {
  if (typeof id !== 'string') return null
  const module = org.modules.get(to ?? '')
  const target = module?.store.byId.get(id)
  return module && target ? {name: module.naming?.raw(target) ?? null, id} : null
}

export const readTags = (org: Org, tags: unknown) =>
  Array.isArray(tags) ? tags.map(({name}) => ({name, id: namedId(org, `tag ${name}`), color_code: null})) : []

const cut = (value: unknown) => (typeof value === 'string' && value.length > 500 ? value.slice(0, 500) : value)

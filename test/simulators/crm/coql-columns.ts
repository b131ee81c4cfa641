import {CallRefused, refuse} from './answers.ts'
import {familyOf, type LiteralFamily} from './conditions.ts'
import type {Field} from './fields.ts'
import type {Module} from './modules.ts'
import type {Org} from './org.ts'
import type {Rec} from './store.ts'

/** A column, which may follow up to two lookups: `Account_Name.Billing_City`. */
export type Path = {
  name: string
  field: Field | null
  family: LiteralFamily
  isOwn: boolean
  raw: (rec: Rec) => unknown
  read: (rec: Rec, zone: string) => unknown
}

const mostJoins = 2

export const resolve = (org: Org, module: Module, name: string): Path => {
  const parts = name.split('.')
  if (parts.length - 1 > mostJoins) throw unknownColumn(name)
  const last = parts.pop()!
  let current = module
  const steps: ((rec: Rec) => Rec | undefined)[] = []
  for (const part of parts) {
    const field = current.fields.get(part)
    if (field && last === 'id' && parts.length === 1 && familyOf(field) === 'id') return {...ownColumn(name, field), read: field.raw}
    const target = field?.spec.lookup === undefined ? undefined : org.modules.get(field.spec.lookup)
    if (!field || !target) throw unknownColumn(name)
    steps.push(rec => target.store.byId.get(String(field.raw(rec))))
    current = target
  }
  if (last === 'id') return through(steps, {name, field: null, family: 'id', isOwn: true, raw: rec => rec.id, read: rec => rec.id})
  const field = current.fields.get(last)
  if (!field || familyOf(field) === 'none') throw unknownColumn(name)
  return through(steps, ownColumn(name, field))
}

const ownColumn = (name: string, field: Field): Path => ({
  name,
  field,
  family: familyOf(field),
  isOwn: true,
  raw: field.raw,
  read: isLink(field) ? readId(field) : field.read,
})

const isLink = ({type}: Field) => type === 'lookup' || type === 'ownerlookup' || type === 'userlookup'

/**
 * Returns a link as its id only, because its name is a separate column. Source:
 * zoho.com/crm/developer/docs/api/v7/Get-Records-through-COQL-Query.html.
 */
const readId =
  ({raw}: Field) =>
  (rec: Rec) => {
    const id = raw(rec)
    return typeof id === 'string' ? {id} : null
  }

const through = (steps: ((rec: Rec) => Rec | undefined)[], path: Path): Path => {
  if (steps.length === 0) return path
  const reach = (rec: Rec) => steps.reduce<Rec | undefined>((at, step) => at && step(at), rec)
  return {
    ...path,
    isOwn: false,
    raw: rec => {
      const end = reach(rec)
      return end ? path.raw(end) : null
    },
    read: (rec, zone) => {
      const end = reach(rec)
      return end ? path.read(end, zone) : null
    },
  }
}

const unknownColumn = (name: string) =>
  new CallRefused(refuse(400, 'INVALID_QUERY', {column_name: name}, 'column given seems to be invalid'))

import type {Deployment} from '../support/deployment.ts'
import {createAsOther} from './carried.ts'
import type {Random} from './random.ts'
import type {UndoCase} from './undo-case.ts'

const modules = ['Accounts', 'Contacts', 'Orders'] as const
type Module = (typeof modules)[number]

/** The values of all records by id, without fields that the CRM sets itself. Links are ids, and subform rows are lists of values. */
export type CrmState = Map<string, {module: Module; values: Record<string, unknown>}>

/** Fields that the CRM sets or computes itself. */
const ownFields = /^(id|\$.*|Modified_.*|Created_.*|Parent_Id|Last_Activity_Time|Number|Full_Name|Total)$/

export const readState = ({crm}: Deployment): CrmState =>
  new Map(
    modules.flatMap(module =>
      crm
        .records('example', module)
        .map(({id}) => [String(id), {module, values: valuesOf(crm.record('example', module, String(id))!)}] as const),
    ),
  )

const valuesOf = (record: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(record).flatMap(([name, value]) =>
      ownFields.test(name) ? [] : [[name, Array.isArray(value) ? value.map(rowOf) : linkOf(value)]],
    ),
  )

const rowOf = (row: unknown) => (typeof row === 'object' && row !== null ? valuesOf(row) : row)
const linkOf = (value: unknown) => (typeof value === 'object' && value !== null && 'id' in value ? value.id : value)

/** Creates the records that exist before the import, as another user. */
export const createBefore = (here: Deployment, {before}: UndoCase) => {
  for (const {module, records} of before) {
    const ids = new Map(here.crm.records('example', 'Accounts').map(({id, Account_Number}) => [Account_Number, String(id)]))
    const made = records.map(({link, ...values}) => ({...values, ...(link && {[link.field]: {id: ids.get(link.number)}})}))
    for (let at = 0; at < made.length; at += 100) createAsOther(here, module, made.slice(at, at + 100))
  }
}

/** The fields that a person edited, by record. An undo must keep their values. */
type Edits = Map<string, string[]>

/** Edits about a third of the records as another user: a mapped field, an unmapped field, a link or a subform row. */
export const editThird = (here: Deployment, dice: Random): Edits => {
  const edits: Edits = new Map()
  for (const [id, {module, values}] of readState(here)) {
    if (!dice.chance(1 / 3)) continue
    const edit = dice.pick(editsOf(here, {id, module, values}))
    here.crm.update('example', module, [{id, ...edit}], {as: 'ben@example.org'})
    edits.set(id, Object.keys(edit))
  }
  return edits
}

type Edited = {id: string; module: Module; values: Record<string, unknown>}

const editsOf = ({crm}: Deployment, {id, module, values}: Edited): Record<string, unknown>[] => {
  if (module === 'Accounts') return [{Account_Name: 'Mine'}, {Billing_City: 'Mine'}, {Phone: '7'}]
  if (module === 'Contacts') return [{Last_Name: 'Mine'}, {Phone: '7'}, ...(values.Account_Name ? [{Account_Name: null}] : [])]
  const [line] = (crm.record('example', module, id)!.Order_Lines ?? []) as {id: string}[]
  const scalars = [{Name: 'Mine'}, {Short: 'mine'}, {Contact_Email: 'mine@x.example'}]
  return line ? [...scalars, {Order_Lines: [{id: line.id, Note: 'Mine'}]}] : scalars
}

/**
 * Returns what the CRM must hold after the undo: the records from before the import, with the edits. A created record that was edited stays as
 * it is, without links to deleted records.
 */
export const expectState = ({before, edited, edits}: {before: CrmState; edited: CrmState; edits: Edits}): CrmState => {
  const expected: CrmState = new Map()
  for (const [id, {module, values}] of edited) {
    const old = before.get(id)
    if (!old && !edits.has(id)) continue
    const kept = Object.fromEntries((edits.get(id) ?? []).map(name => [name, values[name]]))
    expected.set(id, {module, values: old ? {...old.values, ...kept} : values})
  }
  const isGone = (value: unknown) => typeof value === 'string' && edited.has(value) && !expected.has(value)
  for (const one of expected.values())
    one.values = Object.fromEntries(Object.entries(one.values).map(([name, value]) => [name, isGone(value) ? null : value]))
  return expected
}

/** Returns a line for each difference between the two: a missing record, an additional record, or a field. */
export const compareStates = (expected: CrmState, found: CrmState): string[] => {
  const says: string[] = []
  for (const id of new Set([...expected.keys(), ...found.keys()])) {
    const [one, other] = [expected.get(id), found.get(id)]
    if (!one || !other) says.push(`${(one ?? other)!.module} ${id} ${other ? 'was kept' : 'is gone'}`)
    else
      for (const name of Object.keys({...one.values, ...other.values})) {
        const [must, is] = [one.values[name], other.values[name]].map(value => JSON.stringify(value ?? null))
        if (must !== is) says.push(`${one.module} ${id}: ${name} is ${is} instead of ${must}`)
      }
  }
  return says
}

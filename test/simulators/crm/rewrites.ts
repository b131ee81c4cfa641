import type {Write} from './drafts.ts'
import {noteChange} from './history.ts'
import type {Module} from './modules.ts'
import {type Rec, replaceValues} from './store.ts'
import {deleteRecord} from './writes.ts'

/**
 * What the CRM does to a record after a call wrote it. `where`: only records with one of the values in the field.
 * `cut`: stores only the first characters of a text. `fold`: stores a text in lower case. `store`: stores another value.
 * `workflow`: changes the value, which the timeline shows a second later as a workflow of the same user. `delete`: deletes the record.
 */
export type Rewrite = {module: string; where?: {field: string; values: unknown[]}} & (
  | {how: 'cut'; field: string; length: number}
  | {how: 'fold'; field: string}
  | {how: 'store' | 'workflow'; field: string; value: unknown}
  | {how: 'delete'}
)

/** Applies the rewrites of the switch `rewrites` to records that were just written. The answer of the write does not show them. */
export const applyRewrites = (write: Write, module: Module, ids: readonly string[]) => {
  const rewrites = write.org.switches.rewrites.filter(rewrite => rewrite.module === module.name)
  if (rewrites.length === 0) return
  for (const id of ids) {
    const rec = module.store.byId.get(id)
    if (rec) for (const rewrite of rewrites.filter(one => isAbout(one, rec))) applyRewrite(write, module, rec, rewrite)
  }
}

const isAbout = ({where}: Rewrite, {values}: Rec) => !where || where.values.includes(values[where.field])

const applyRewrite = (write: Write, module: Module, rec: Rec, rewrite: Rewrite) => {
  if (rewrite.how === 'delete') return void deleteRecord(write, module, rec.id)
  const {field} = rewrite
  const old = rec.values[field]
  const value = storedBy(rewrite, old)
  replaceValues(module.store, rec, {...rec.values, [field]: value})
  if (rewrite.how !== 'workflow') return
  rec.modifiedAt = write.at + 1_000
  noteChange(module, rec, {
    at: rec.modifiedAt,
    by: write.user,
    source: 'workflow',
    action: 'updated',
    fields: [{name: field, old, new: value}],
  })
}

const storedBy = (rewrite: Exclude<Rewrite, {how: 'delete'}>, old: unknown): unknown => {
  if (rewrite.how === 'cut') return typeof old === 'string' ? old.slice(0, rewrite.length) : old
  if (rewrite.how === 'fold') return typeof old === 'string' ? old.toLowerCase() : old
  return rewrite.value
}

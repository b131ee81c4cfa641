import {setWritesPaused} from '../../sql/connectors.ts'
import type {Db, Tx} from '../../sql/database.ts'
import {
  type CuratedModuleRow,
  deleteCuratedModules,
  findSettings,
  keepCuratedModules,
  keepSettings,
  listCuratedModules,
  listPausedConnectors,
} from '../../sql/registry.ts'
import type {Annotation} from './annotation.ts'
import {annotationsOf, isOneModule, isSame} from './diff.ts'
import type {Registry, RegistryModule} from './document.ts'
import {usualSettings} from './settings.ts'

/** Returns the org's current registry without its version. */
export const loadRegistry = async (db: Db, org: string): Promise<Registry> => {
  const {onEdited: orgChoice, undo, guard, approvalAbove = null, embedOrigins, ...settings} = (await findSettings(db, org)) ?? usualSettings
  const paused = await listPausedConnectors(db, org)
  const rows = await listCuratedModules(db, org)
  const annotated = rows.filter(({annotations}) => annotations.length > 0)
  return {
    settings: {
      ...settings,
      ...(orgChoice && {onEdited: orgChoice}),
      ...(undo === 'off' && {undo}),
      ...(guard && {guard}),
      ...(approvalAbove !== null && {approvalAbove}),
      ...(embedOrigins?.length && {embedOrigins}),
    },
    writing: Object.fromEntries(paused.map(id => [id, {paused: true}])),
    modules: rows.map(
      ({annotations: _, idempotencyField, onEdited, ...module}) =>
        ({...module, ...(idempotencyField && {idempotencyField}), ...(onEdited && {onEdited})}) as RegistryModule,
    ),
    fields: Object.fromEntries(annotated.map(({key, annotations}) => [key, annotations as Annotation[]])),
  }
}

export const findDateFormat = async (db: Db, org: string): Promise<string> => ((await findSettings(db, org)) ?? usualSettings).dateFormat

/** Changes the stored registry from `before` to `after`. The caller holds the lock on the version. */
export const storeRegistry = async (tx: Tx, org: string, before: Registry, after: Registry): Promise<void> => {
  if (!isSame(before.settings, after.settings)) await keepSettings(tx, org, after.settings)
  for (const id of Object.keys({...before.writing, ...after.writing})) {
    const paused = Object.hasOwn(after.writing, id)
    if (paused !== Object.hasOwn(before.writing, id)) await setWritesPaused(tx, {org, id, paused})
  }
  const now = new Map(after.modules.map(module => [module.key, module]))
  const gone = before.modules.filter(module => !isOneModule(module, now.get(module.key)))
  if (gone.length > 0)
    await deleteCuratedModules(
      tx,
      org,
      gone.map(({key}) => key),
    )
  const old = new Map(rowsOf(before).map(row => [row.key, row]))
  const changed = rowsOf(after).filter(row => !isSame(row, old.get(row.key)))
  if (changed.length > 0) await keepCuratedModules(tx, org, changed)
}

const rowsOf = (registry: Registry): CuratedModuleRow[] =>
  registry.modules.map(module => ({...module, annotations: annotationsOf(registry, module.key)}) as CuratedModuleRow)

import {shapeField} from '../../../shared/mapping/flows/snapshot.ts'
import type {Db} from '../../../sql/database.ts'
import {findDiscoveredModule} from '../../../sql/discoveries.ts'
import {listNames} from '../../../sql/external-runs.ts'
import type {Run} from '../../../sql/runs.ts'
import type {CompiledFlow} from '../model.ts'
import {loadPresentNames} from './renamed-modules.ts'

/**
 * Compiles one flow for each module that an external engine wrote, by the newest discovery. Runs of an external engine have no snapshot,
 * because the engine reads and maps the rows itself.
 */
export const listExternalFlows = async (db: Db, {no, connectorId, endedAt: until}: Run): Promise<CompiledFlow[]> => {
  const written = (await listNames(db, no)).filter(({kind}) => kind === 'module')
  const nameOf = await loadPresentNames(db, {connector: connectorId!, discovery: null, until, names: written.map(({name}) => name)})
  const modules = written.map(({name, ...module}) => ({...module, name: nameOf(name)}))
  return Promise.all(modules.map(module => compileModule(db, {connector: connectorId!, module, modules})))
}

type ModuleName = {no: number; name: string}

/** The module number of a parent module that the engine did not write. */
const unnumbered = 0

const compileModule = async (
  db: Db,
  {connector, module: {no, name}, modules}: {connector: string; module: ModuleName; modules: ModuleName[]},
): Promise<CompiledFlow> => {
  const found = await findDiscoveredModule(db, {connector, module: name})
  const parent = found?.subformOf
  const moduleNo = modules.find(one => one.name === parent?.module)?.no ?? unnumbered
  const link = {
    field: parent?.field ?? '',
    flow: {no: 0, id: '', moduleNo},
    order: 'before' as const,
    key: null,
    onMissing: 'fail' as const,
  }
  return {
    no: 0,
    id: '',
    source: noSource,
    mappings: [],
    matchFields: [],
    uniqueFields: [],
    module: {no, apiName: name, label: found?.label ?? name, fields: (found?.fields ?? []).map(shapeField)},
    onOne: 'update',
    onMany: 'skip',
    comparedFields: null,
    options: {},
    subform: parent ? {link, field: parent.field, module: parent.module} : null,
  }
}

const noSource = {no: 0, id: '', label: '', fileKey: '', sha256: '', reader: null, columns: [], rows: 0}

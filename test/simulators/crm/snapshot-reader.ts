import type {Module} from './modules.ts'
import {addModule} from './modules.ts'
import {type Org, userById} from './org.ts'
import {addOrg, orgOf, type SimulatorState} from './simulator-state.ts'
import {snapshotVersion} from './snapshot-writer.ts'
import {insert, type Rec} from './store.ts'

type RowsToJoin = {org: Org; module: Module; rec: Rec; rows: Record<string, string[]>}

/** Restores the state from the lines of a snapshot, which replace the seeds. Throws if the last line is missing. */
export const restoreSimulatorState = (world: SimulatorState, lines: Iterable<any>) => {
  const joins: RowsToJoin[] = []
  let isWhole = false
  for (const line of lines) {
    if (line.kind === 'end') isWhole = true
    else restoreLine(world, line, joins)
  }
  if (!isWhole) throw new Error('the end is missing')
  for (const join of joins) joinRows(join)
}

const restoreLine = (world: SimulatorState, line: any, joins: RowsToJoin[]) => {
  switch (line.kind) {
    case 'world':
      if (line.version !== snapshotVersion) throw new Error(`version ${line.version} is not ${snapshotVersion}`)
      world.orgs.clear()
      for (const client of line.clients) if (!world.clients.has(client.clientId)) world.clients.set(client.clientId, client)
      return
    case 'org':
      return restoreOrg(world, line)
    case 'module':
      return restoreModule(orgOf(world, line.org), line)
    case 'records':
      return restoreRecords(orgOf(world, line.org), line, joins)
    case 'bin':
      return restoreBin(orgOf(world, line.org), line)
    case 'history':
      return restoreHistory(orgOf(world, line.org), line)
    case 'restores':
      return restoreScheduled(orgOf(world, line.org), line)
    case 'counters':
      Object.assign(orgOf(world, line.org).counters, line.counters)
      return
    case 'consents':
      for (const consent of line.consents) world.tokens.consents.add(consent)
      return
    case 'refresh':
      world.tokens.refresh.set(line.token, {...grantOf(world, line), token: line.token, at: line.at, mints: line.mints})
      return
    case 'access':
      world.tokens.access.set(line.token, {...grantOf(world, line), token: line.token, until: line.until, refreshToken: line.refreshToken})
      return
    default:
      throw new Error(`an unknown line: ${line.kind}`)
  }
}

const restoreOrg = (world: SimulatorState, line: any) => {
  const org = addOrg(world, line.spec)
  org.names = new Map(line.names)
  org.id = org.names.get('org') ?? org.id
  org.users = line.users
  org.credits.restore(line.credits)
}

/** Restores a module. A module of subform rows may already exist, because its parent module created it. */
const restoreModule = (org: Org, line: any) => {
  const module = org.modules.get(line.spec.name) ?? addModule(org, line.spec)
  module.id = line.id
  module.position = line.position
  for (const {name, id, next} of line.fields) Object.assign(module.fields.get(name) ?? {}, {id, next})
}

const restoreRecords = (org: Org, line: any, joins: RowsToJoin[]) => {
  const module = org.modules.get(line.module)!
  for (const kept of line.records) {
    const rec = recordOf(org, kept)
    insert(module.store, rec)
    if (kept.rows) joins.push({org, module, rec, rows: kept.rows})
  }
}

const restoreBin = (org: Org, line: any) => {
  const {store, fields} = org.modules.get(line.module)!
  for (const kept of line.records) {
    const rec: Rec = {...recordOf(org, kept), gone: true}
    const rows = Object.entries<any[]>(kept.binnedRows ?? {}).filter(([name]) => fields.has(name))
    if (rows.length > 0) {
      rec.rows = new Map(rows.map(([name, some]) => [name, some.map(row => ({...recordOf(org, row), gone: true, parent: rec}))]))
    }
    store.bin.set(kept.id, {rec, at: kept.binnedAt, by: userOf(org, kept.binnedBy)})
  }
}

const restoreHistory = (org: Org, line: any) => {
  const {history} = org.modules.get(line.module)!.store
  for (const [id, changes] of line.changes)
    history.set(
      id,
      changes.map(({by, ...change}: any) => ({...change, by: userOf(org, by)})),
    )
}

const restoreScheduled = (org: Org, line: any) => {
  org.restores = line.restores.map(({user, ...rest}: any) => ({...rest, user: userOf(org, user)}))
}

const joinRows = ({org, module, rec, rows}: RowsToJoin) => {
  rec.rows = new Map()
  for (const [name, ids] of Object.entries(rows)) {
    const {spec} = module.fields.get(name)!
    const child = org.modules.get(spec.subform?.module ?? spec.links?.module ?? '')!
    const held = ids.map(id => child.store.byId.get(id)).filter(row => row !== undefined)
    for (const row of held) row.parent = rec
    rec.rows.set(name, held)
  }
}

const recordOf = (org: Org, kept: any): Rec => ({
  id: kept.id,
  values: kept.values,
  owner: userOf(org, kept.by[0]),
  createdBy: userOf(org, kept.by[1]),
  modifiedBy: userOf(org, kept.by[2]),
  createdAt: kept.at[0],
  modifiedAt: kept.at[1],
  rows: null,
  parent: null,
  converted: kept.converted ?? false,
  locked: kept.locked ?? false,
  gone: false,
  ...(kept.source && {source: kept.source}),
})

const grantOf = (world: SimulatorState, {org: key, user, clientId, dc, scopes}: any) => {
  const org = orgOf(world, key)
  return {org, user: userOf(org, user), clientId, dc, scopes}
}

const userOf = (org: Org, id: string) => {
  const user = userById(org, id)
  if (!user) throw new Error(`no user ${id}`)
  return user
}

import type {Module} from './modules.ts'
import type {Org} from './org.ts'
import type {SimulatorState} from './simulator-state.ts'
import {live, type Rec} from './store.ts'
import type {Grant} from './tokens.ts'

export const snapshotVersion = 1
const recordsPerLine = 1000

/** Yields the lines of a snapshot: the state without faults, journal, bulk jobs, switches and clock. */
export function* snapshotLines(world: SimulatorState): Generator<unknown> {
  yield {kind: 'world', version: snapshotVersion, clients: [...world.clients.values()]}
  for (const org of world.orgs.values()) {
    yield orgLine(org)
    for (const module of org.modules.values()) yield moduleLine(org, module)
    for (const module of org.modules.values()) yield* recordLines(org, module)
    yield {kind: 'counters', org: org.key, counters: org.counters}
  }
  for (const {mints, token, at, ...grant} of world.tokens.refresh.values()) yield {kind: 'refresh', token, at, mints, ...grantOf(grant)}
  for (const {token, until, refreshToken, ...grant} of world.tokens.access.values()) {
    yield {kind: 'access', token, until, refreshToken, ...grantOf(grant)}
  }
  for (const {key, restores} of world.orgs.values()) {
    if (restores.length > 0) yield {kind: 'restores', org: key, restores: restores.map(({user, ...rest}) => ({...rest, user: user.id}))}
  }
  yield {kind: 'consents', consents: [...world.tokens.consents]}
  yield {kind: 'end'}
}

const orgLine = (org: Org) => ({
  kind: 'org',
  spec: {...org.spec, users: [], modules: [], profiles: [...org.profiles.values()]},
  users: org.users,
  names: [...org.names],
  credits: org.credits.entries(),
})

const moduleLine = (org: Org, module: Module) => ({
  kind: 'module',
  org: org.key,
  id: module.id,
  position: module.position,
  spec: module.spec,
  fields: [...module.fields.values()].map(field => ({name: field.name, id: field.id, next: field.next})),
})

function* recordLines(org: Org, module: Module): Generator<unknown> {
  let records: unknown[] = []
  const line = () => ({kind: 'records', org: org.key, module: module.name, records})
  for (const rec of live(module.store)) {
    records.push(describeRecord(rec))
    if (records.length < recordsPerLine) continue
    yield line()
    records = []
  }
  if (records.length > 0) yield line()
  const binned = [...module.store.bin.values()].map(({rec, at, by}) => ({
    ...describeRecord(rec),
    binnedAt: at,
    binnedBy: by.id,
    binnedRows: Object.fromEntries([...(rec.rows ?? [])].map(([field, rows]) => [field, rows.map(describeRecord)])),
  }))
  if (binned.length > 0) yield {kind: 'bin', org: org.key, module: module.name, records: binned}
  const changes = [...module.store.history].map(([id, known]) => [id, known.map(({by, ...change}) => ({...change, by: by.id}))])
  if (changes.length > 0) yield {kind: 'history', org: org.key, module: module.name, changes}
}

const describeRecord = (rec: Rec) => ({
  id: rec.id,
  by: [rec.owner.id, rec.createdBy.id, rec.modifiedBy.id],
  at: [rec.createdAt, rec.modifiedAt],
  values: rec.values,
  ...(rec.rows ? {rows: Object.fromEntries([...rec.rows].map(([field, rows]) => [field, rows.map(row => row.id)]))} : {}),
  ...(rec.converted ? {converted: true} : {}),
  ...(rec.locked ? {locked: true} : {}),
  ...(rec.source ? {source: rec.source} : {}),
})

const grantOf = ({org, user, clientId, dc, scopes}: Grant) => ({org: org.key, user: user.id, clientId, dc, scopes})

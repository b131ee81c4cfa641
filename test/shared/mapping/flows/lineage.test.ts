import test from 'ava'
import type {Refusal} from '../../../../shared/errors.ts'
import {extendLineage, type Lineage} from '../../../../shared/mapping/flows/lineage.ts'
import type {Snapshot} from '../../../../shared/mapping/flows/snapshot.ts'
import {lineageOf} from '../../../../shared/runs/retry.ts'

const source = (id: string, more: object = {}) => ({
  id,
  label: id,
  sha256: `hash of ${id}`,
  reader: {format: 'csv', delimiter: ','},
  ...more,
})
const flow = (id: string, module: string, sourceId = 'a') => ({id, module, sourceId})
const sources = [source('a'), source('b')]

test('lineage numbers are permanent: new modules and flows get the next one, and removed ones keep theirs', t => {
  const first = extendLineage(null, {sources, flows: [flow('f', 'Accounts'), flow('g', 'Contacts')]})
  const second = extendLineage(first, {sources, flows: [flow('h', 'Leads'), flow('g', 'Contacts')]})
  t.deepEqual(second.modules, ['Accounts', 'Contacts', 'Leads'])
  t.deepEqual(
    second.flows.map(({id}) => id),
    ['f', 'g', 'h'],
  )
  t.deepEqual(extendLineage(second, {sources, flows: [flow('f', 'Accounts')]}), second)
})

test('a flow of a chain keeps its file and reader, also after a run without it', t => {
  const first = extendLineage(null, {sources, flows: [flow('f', 'Accounts')]})
  const away = extendLineage(first, {sources, flows: [flow('g', 'Accounts', 'b')]})
  const changed = (flows: ReturnType<typeof flow>[], more: typeof sources) =>
    t.throws<Refusal>(() => extendLineage(away, {sources: more, flows}), {message: /Flow f/}).code
  t.is(changed([flow('f', 'Accounts', 'b')], sources), 'SNAPSHOT_CHANGED')
  t.is(changed([flow('f', 'Accounts')], [source('a', {reader: {format: 'csv', delimiter: ';'}})]), 'SNAPSHOT_CHANGED')
  t.is(changed([flow('f', 'Accounts')], [source('a', {sha256: 'another'})]), 'SNAPSHOT_CHANGED')
  t.notThrows(
    () => extendLineage(away, {sources: [source('c', {sha256: 'hash of a'})], flows: [flow('f', 'Accounts', 'c')]}),
    'the same file again',
  )
})

test('a flow of a chain keeps its module, also in a lineage that stored none', t => {
  const {modules, flows} = extendLineage(null, {sources, flows: [flow('f', 'Old_Name'), flow('g', 'Contacts')]})
  const lineage: Lineage = {modules, flows: flows.map(({module: _, ...pin}) => pin), clock: 1, seed: 's', onEdited: 'keep'}
  const snapshot = {lineage, flows: [{flow: flow('f', 'Old_Name')}], sources} as unknown as Snapshot
  for (const before of [{modules, flows}, lineageOf(snapshot)]) {
    const changed = t.throws<Refusal>(() => extendLineage(before, {sources, flows: [flow('f', 'New_Name')]}))
    t.like(changed, {code: 'SNAPSHOT_CHANGED', extra: {flow: 'f'}})
    t.deepEqual(extendLineage(before, {sources, flows: [flow('f', 'Old_Name'), flow('g', 'Contacts')]}), {modules, flows})
  }
})

test('a chain can have at most a thousand flows', t => {
  const flows = (prefix: string) => Array.from({length: 600}, (_, at) => flow(`${prefix}${at}`, 'Accounts'))
  const first = extendLineage(null, {sources, flows: flows('f')})
  t.is(t.throws<Refusal>(() => extendLineage(first, {sources, flows: flows('g')})).code, 'NOT_READY')
})
